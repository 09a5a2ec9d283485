import { appendFile, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { BatchTaskContext } from '../../src/library/batch.ts';

/*
 * Workflows as a user of the library would write them, in TypeScript, loaded by workers straight from this file.
 */

const forEver = (): Promise<never> =>
  new Promise(() => {
    setInterval(() => undefined, 60_000);
  });

async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await wait(10);
}

const behaviours = {
  return: async ({ id }: BatchTaskContext) => ({ from: id }),
  nothing: async () => undefined,
  throw: async ({ id }: BatchTaskContext) => {
    throw new Error(`no luck with ${id}`);
  },
  'throw once': async ({ attempt }: BatchTaskContext) => {
    if (attempt === 1) throw new Error('not yet');
    return attempt;
  },
  'give up': async () => {
    throw Object.assign(new Error('it will never work'), { retry: 'permanent' });
  },
  'return a cycle': async () => {
    const cycle: { self?: unknown } = {};
    cycle.self = cycle;
    return cycle;
  },
  exit: async () => process.exit(3),
  kill: async () => {
    process.kill(process.pid, 'SIGKILL');
    await forEver();
  },
  reject: async () => {
    void Promise.reject(new Error('nobody listens'));
    await forEver();
  },
  hang: forEver,
  spin: async () => {
    for (;;);
  },
  beat: async ({ heartbeat }: BatchTaskContext) => {
    for (let count = 0; count < 80; count++) {
      heartbeat();
      await wait(50);
    }
    return 'alive';
  },
  'eat memory': async () => {
    const eaten: number[][] = [];
    for (;;) eaten.push(Array.from({ length: 100_000 }, (_, index) => index + eaten.length));
  },
  environment: async () => process.env['BATCH_TEST'],
};

export type Behaviour = keyof typeof behaviours;

export async function behave(context: BatchTaskContext<Behaviour>): Promise<unknown> {
  return behaviours[context.input](context);
}

/** Says that it is there, and goes on when there are as many as it was told. */
export async function meet({ id, input, log }: BatchTaskContext<{ folder: string; others: number }>): Promise<void> {
  await writeFile(join(input.folder, id), '');
  log('here');
  await until(async () => (await readdir(input.folder)).length >= input.others);
}

/** Prints lines in pieces while the others do the same. */
export async function chatter(context: BatchTaskContext<{ folder: string; others: number }>): Promise<void> {
  await meet(context);
  for (let line = 1; line <= 100; line++) {
    process.stdout.write(`${context.id} prints `);
    await wait(1);
    process.stdout.write(`line ${line}\n`);
  }
}

/** Two steps, each of which leaves a line in a file; the second one waits for a file, or for the end. */
export async function twoSteps({ id, input, step, signal }: BatchTaskContext<{ folder: string }>): Promise<string> {
  const first = await step('first', { id }, async () => {
    await appendFile(join(input.folder, `${id}.first`), 'done\n');
    return { secret: 'hunter2-hunter2', at: new Date(0) };
  });
  process.stdout.write(`${JSON.stringify(first)}\n`);
  return step('second', { id, first }, async () => {
    const open = async (): Promise<boolean> => (await readdir(input.folder)).includes(`${id}.open`);
    await until(async () => {
      signal.throwIfAborted();
      if ((await readdir(input.folder)).includes(`${id}.closed`)) {
        throw Object.assign(new Error('the door is closed'), { retry: 'permanent' });
      }
      return open();
    });
    await appendFile(join(input.folder, `${id}.second`), 'done\n');
    return `second of ${id}`;
  });
}

export const notATask = 'text';
