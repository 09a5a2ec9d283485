import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { expect, onTestFinished, test } from 'vitest';
import { OutputPrefixer, sinkOf } from '../../src/output/prefixer.ts';

type Child = ChildProcessByStdio<null, Readable, Readable>;

function start(file: string, ...args: string[]): Child {
  const child = spawn(file, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  return child;
}

const shell = (script: string): Child => start('sh', '-c', script);
const node = (script: string): Child => start(process.execPath, '-e', script);

function collecting(): { prefixer: OutputPrefixer; text: () => string } {
  const written: Buffer[] = [];
  const prefixer = new OutputPrefixer({ write: (chunk) => void written.push(chunk), colour: false });
  return { prefixer, text: () => Buffer.concat(written).toString() };
}

test('lines of many children never mix, and each stream keeps its order', async () => {
  const { prefixer, text } = collecting();
  const script = `for (let n = 0; n < 3000; n++) {
    process.stdout.write('out ' + n + ' ' + 'ü'.repeat(n % 50) + '\\n');
    if (n % 3 === 0) process.stderr.write('err ' + n + '\\n');
  }`;
  const labels = ['LLD-1', 'LLD-2', 'LLD-3', 'LLD-4'];
  await Promise.all(
    labels.map((label) => {
      const child = node(script);
      return prefixer.attach(label, child.stdout, child.stderr).done;
    }),
  );
  const lines = text().split('\n');
  expect(lines.pop()).toBe('');
  const numbers = Array.from({ length: 3000 }, (_, n) => n);
  for (const label of labels) {
    const own = lines.filter((line) => line.startsWith(`[${label}] `)).map((line) => line.slice(label.length + 3));
    expect(own.filter((line) => line.startsWith('out'))).toEqual(numbers.map((n) => `out ${n} ${'ü'.repeat(n % 50)}`));
    expect(own.filter((line) => line.startsWith('err'))).toEqual(
      numbers.filter((n) => n % 3 === 0).map((n) => `err ${n}`),
    );
  }
  expect(lines).toHaveLength(4 * 4000);
});

test('what a child starts is prefixed too, and a last line without an end is shown', async () => {
  const { prefixer, text } = collecting();
  const { stdout, stderr } = shell('echo one; sh -c "echo two; printf three"');
  await prefixer.attach('LLD-1', stdout, stderr).done;
  expect(text()).toBe('[LLD-1] one\n[LLD-1] two\n[LLD-1] three\n');
});

test('a child that is killed in the middle of a line ends its attachment', async () => {
  const { prefixer, text } = collecting();
  const child = node('process.stdout.write("half a line"); setInterval(() => {}, 1000)');
  const { done } = prefixer.attach('LLD-1', child.stdout, child.stderr);
  await once(child.stdout, 'data');
  child.kill('SIGKILL');
  await done;
  expect(text()).toBe('[LLD-1] half a line\n');
});

test('a grandchild that keeps the pipe open can be let go', async () => {
  const { prefixer, text } = collecting();
  const child = shell('sleep 60 & echo $!');
  const attachment = prefixer.attach('LLD-1', child.stdout, child.stderr);
  const [chunk] = (await once(child.stdout, 'data')) as [Buffer];
  onTestFinished(() => void process.kill(Number(chunk.toString()), 'SIGKILL'));
  await once(child, 'exit');
  attachment.detach();
  await attachment.done;
  expect(text()).toMatch(/^\[LLD-1\] \d+\n$/);
  child.stdout.destroy();
  child.stderr.destroy();
});

test('while the sink is full a child has to wait, and then nothing is missing', async () => {
  let full = Promise.withResolvers<void>();
  let lines = 0;
  const prefixer = new OutputPrefixer({
    write: (chunk) => {
      for (const byte of chunk) if (byte === 0x0a) lines++;
      return false;
    },
    drained: () => {
      full = Promise.withResolvers();
      return full.promise;
    },
    colour: false,
  });
  const child = shell('yes "a line of thirty-two characters" | head -n 1000000');
  const { done } = prefixer.attach('LLD-1', child.stdout, child.stderr);
  await once(child.stdout, 'pause');
  for (let n = 0; n < 50; n++) await new Promise(setImmediate);
  expect(child.exitCode).toBeNull();
  expect(lines).toBeLessThan(10_000);
  expect(child.stdout.readableLength).toBeLessThanOrEqual(128 * 1024);
  const release = setInterval(() => full.resolve(), 0);
  await done;
  clearInterval(release);
  expect(lines).toBe(1_000_000);
});

test('a reader that goes away does not hold the children up', async () => {
  const reader = spawn('head', ['-n', '1'], { stdio: ['pipe', 'pipe', 'inherit'] });
  reader.stdin.on('error', () => undefined);
  const prefixer = new OutputPrefixer({ ...sinkOf(reader.stdin), colour: false });
  const child = shell('yes | head -c 20000000');
  const attachment = prefixer.attach('LLD-1', child.stdout, child.stderr);
  const [[chunk], [code]] = await Promise.all([once(reader.stdout, 'data'), once(child, 'exit'), attachment.done]);
  expect(String(chunk)).toBe('[LLD-1] y\n');
  expect(code).toBe(0);
});
