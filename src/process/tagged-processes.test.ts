import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';
import { endLeftovers } from './tagged-processes.ts';

test.skipIf(!existsSync('/proc/self/environ'))(
  'what carries the tag in the named variable ends, and nothing else',
  async () => {
    const tag = `leftovers-${process.pid}`;
    const start = async (variable: string, value: string) => {
      const env = { PATH: process.env['PATH'] ?? '', [variable]: value };
      const child = spawn('sh', ['-c', 'echo ready; read line'], {
        env,
        detached: true,
        stdio: ['pipe', 'pipe', 'ignore'],
      });
      await once(child.stdout, 'data');
      return child;
    };
    const wanted = await start('AGENTOS_CALL', `${tag}-1`);
    const others = [await start('AGENTOS_WORKER', `${tag}-1`), await start('AGENTOS_CALL', `other-${tag}`)];
    const ended = once(wanted, 'exit');
    await endLeftovers(tag, 'AGENTOS_CALL');
    expect(await ended).toEqual([null, 'SIGKILL']);
    for (const child of others) {
      const exit = once(child, 'exit');
      child.stdin.end();
      expect((await exit)[1]).toBeNull();
    }
  },
);
