import { Readable, Writable } from 'node:stream';
import { expect, test } from 'vitest';
import { OutputPrefixer, type Sink, sinkOf } from './prefixer.ts';

/** Full after every write until it is told to go on. */
class SlowSink implements Sink {
  readonly written: string[] = [];
  #waiting = Promise.withResolvers<void>();

  write(chunk: Buffer): boolean {
    this.written.push(chunk.toString());
    return false;
  }

  drained(): Promise<void> {
    this.#waiting = Promise.withResolvers();
    return this.#waiting.promise;
  }

  goOn(): void {
    this.#waiting.resolve();
  }

  goAway(): void {
    this.#waiting.reject(new Error('gone'));
  }
}

const prefixerInto = (sink: SlowSink, onLine?: () => void): OutputPrefixer =>
  new OutputPrefixer({
    write: (chunk) => sink.write(chunk),
    drained: () => sink.drained(),
    colour: false,
    ...(onLine ? { onLine } : {}),
  });

/** Time for everything that is ready to happen. */
async function settle(): Promise<void> {
  for (let n = 0; n < 20; n++) await new Promise(setImmediate);
}

/** A stream that always has another line, and counts how many were taken. */
function endless(): { stream: Readable; taken: () => number } {
  let count = 0;
  const stream = new Readable({ highWaterMark: 64, read: () => void stream.push(`line ${count++} of sixteen\n`) });
  return { stream, taken: () => count };
}

test('while the sink is full no stream is read', async () => {
  const sink = new SlowSink();
  const prefixer = prefixerInto(sink);
  const streams = [endless(), endless(), endless()];
  for (const [n, { stream }] of streams.entries()) prefixer.attach(`S${n}`, stream, null);
  await settle();
  const taken = streams.map((stream) => stream.taken());
  expect(sink.written).toHaveLength(1);
  await settle();
  expect(streams.map((stream) => stream.taken())).toEqual(taken);
  for (const { stream } of streams) stream.destroy();
});

test('a stream that Node resumes, or that is attached meanwhile, is paused too', async () => {
  const sink = new SlowSink();
  const prefixer = prefixerInto(sink);
  const [early, late] = [endless(), endless()];
  prefixer.attach('early', early.stream, null);
  await settle();
  prefixer.attach('late', late.stream, null);
  early.stream.resume();
  await settle();
  expect(sink.written).toHaveLength(2);
  expect(early.taken() + late.taken()).toBeLessThan(12);
  for (const { stream } of [early, late]) stream.destroy();
});

test('a slow sink gets lines of every stream, not only the first', async () => {
  const sink = new SlowSink();
  const prefixer = prefixerInto(sink);
  const streams = [endless(), endless(), endless()];
  for (const [n, { stream }] of streams.entries()) prefixer.attach(`S${n}`, stream, null);
  for (let n = 0; n < 30; n++) {
    await settle();
    sink.goOn();
  }
  const heard = streams.map((_, n) => sink.written.filter((line) => line.startsWith(`[S${n}]`)).length);
  expect(Math.min(...heard)).toBeGreaterThan(5);
  for (const { stream } of streams) stream.destroy();
});

test('a slow sink loses nothing and keeps the order of each stream', async () => {
  const sink = new SlowSink();
  const prefixer = prefixerInto(sink);
  const lines = Array.from({ length: 50 }, (_, n) => `line ${n}`);
  const chunks = (): Buffer[] => lines.map((line) => Buffer.from(`${line}\n`));
  const done = ['A', 'B', 'C'].map((label) => prefixer.attach(label, Readable.from(chunks()), null).done);
  let isDone = false;
  const all = Promise.all(done).then(() => {
    isDone = true;
  });
  while (!isDone) {
    await settle();
    sink.goOn();
  }
  await all;
  const shown = sink.written.join('').split('\n');
  for (const label of ['A', 'B', 'C']) {
    expect(shown.filter((line) => line.startsWith(`[${label}]`))).toEqual(lines.map((line) => `[${label}] ${line}`));
  }
});

test('when the sink is gone, streams are still read to their end, and onLine is called', async () => {
  const sink = new SlowSink();
  let heard = 0;
  const prefixer = prefixerInto(sink, () => heard++);
  const chunks = Array.from({ length: 20 }, () => Buffer.from('line\n'));
  const { done } = prefixer.attach('X', Readable.from(chunks), null);
  await settle();
  sink.goAway();
  await done;
  expect(sink.written).toHaveLength(1);
  expect(heard).toBe(20);
});

test('a stream as a sink: full until it drains, gone when it is closed', async () => {
  const pending: (() => void)[] = [];
  const stream = new Writable({ highWaterMark: 4, write: (_chunk, _encoding, done) => void pending.push(done) });
  const sink = sinkOf(stream);
  await sink.drained();
  expect(sink.write(Buffer.from('longer than four'))).toBe(false);
  const drained = sink.drained();
  pending.pop()?.();
  await drained;
  expect(sink.write(Buffer.from('longer than four'))).toBe(false);
  const never = sink.drained();
  stream.destroy();
  await expect(never).rejects.toMatchObject({ code: 'output-unwritable' });
  await expect(sink.drained()).rejects.toMatchObject({ code: 'output-unwritable' });
});
