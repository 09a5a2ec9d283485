import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { resolveConfig } from '../src/core/config.ts';
import { parseItemId } from '../src/core/ids.ts';
import { withoutSecrets } from '../src/core/keys.ts';
import { pathsOf } from '../src/core/paths.ts';
import { createGit } from '../src/git/git.ts';
import { runProgram } from '../src/process/program.ts';
import { findSandbox, type OpenSandbox, type SandboxWish } from '../src/process/sandbox/sandbox.ts';
import { createItemSandbox } from '../src/worker/item-sandbox.ts';
import { ISSUE } from '../test/support/models.ts';
import { withFolder } from './support/folder.ts';
import { createRepository } from './support/repository.ts';
import { type BenchRow, below, inMs, median, shown } from './support/row.ts';

const RUNS = 40;

/** What a sandbox adds to one program, from asking for it to the program's end; with and without the gateway in reach. */
export async function sandboxBench(): Promise<BenchRow[]> {
  const found = await findSandbox(process.env);
  if (found.tool === null) return [shown('sandbox', `none: ${found.reason}`)];
  const { tool } = found;
  const gateway = createServer().listen(0, '127.0.0.1');
  await once(gateway, 'listening');
  const endpoints = [`http://127.0.0.1:${(gateway.address() as AddressInfo).port}/anthropic`];
  try {
    return await withFolder(async (folder) => {
      const root = join(folder, 'repository');
      await createRepository(root, [['1', ISSUE]]);
      const git = createGit(root, withoutSecrets(process.env, [], []));
      const paths = pathsOf(root, join(root, '.agentos'), join(folder, 'work'));
      const id = parseItemId('1');
      const [worktree, home] = [paths.worktree('implement', id), paths.home('implement', id)];
      await mkdir(home, { recursive: true });
      await mkdir(paths.caches);
      await git.run(['worktree', 'add', '--quiet', worktree]);
      const config = resolveConfig({}, {}, {});
      const none = { hidden: [], endpoints, onNotice: () => undefined };
      const open = createItemSandbox({ tool, paths, home, git, config, ...none });
      const env = { PATH: process.env['PATH'] ?? '', HOME: home };
      const wish: SandboxWish = { worktree, may: 'write', env };
      const times = { plain: [] as number[], apart: [] as number[], reaching: [] as number[] };
      for (let run = 0; run < RUNS; run++) {
        times.plain.push(await timeOf(wish, undefined));
        times.apart.push(await timeOf(wish, open));
        times.reaching.push(await timeOf({ ...wish, network: ['gateway'] }, open));
      }
      const plain = median(times.plain);
      return [
        below('sandbox: added to a program', median(times.apart) - plain, 50, inMs),
        below('sandbox: added to an agent, with the gateway', median(times.reaching) - plain, 50, inMs),
        shown('  the program without (sh -c true)', inMs(plain)),
      ];
    });
  } finally {
    gateway.close();
  }
}

async function timeOf(wish: SandboxWish, open: OpenSandbox | undefined): Promise<number> {
  const { signal } = new AbortController();
  const began = performance.now();
  const sandbox = await open?.(wish);
  const how = { cwd: wish.worktree, env: wish.env, signal, timeoutMs: 60_000, sandbox };
  const { exitCode, tail } = await runProgram({ command: 'true', ...how });
  if (exitCode !== 0) throw new Error(`the program ended with ${String(exitCode)}: ${tail}`);
  return performance.now() - began;
}
