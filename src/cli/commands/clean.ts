import { join } from 'node:path';
import { z } from 'zod';
import { acquireLock } from '../../coordinator/lock.ts';
import { codeOf } from '../../core/errors.ts';
import { EXIT } from '../../core/exit-code.ts';
import { createTerminal, paint, printable, type Terminal } from '../../output/terminal.ts';
import { createDirectorySource } from '../../source/directory.ts';
import { clean } from '../../workspace/clean.ts';
import type { CleanEntry } from '../../workspace/clean-entry.ts';
import { createGit } from '../../workspace/git.ts';
import { projectOf } from '../place-flags.ts';

const schema = z.object({
  dryRun: z.boolean().optional(),
  json: z.boolean().optional(),
  caches: z.boolean().optional(),
  repo: z.string().optional(),
  baseDir: z.string().optional(),
  config: z.string().optional(),
});

export async function cleanCommand(rawFlags: unknown): Promise<number> {
  const { dryRun = false, json = false, caches = false, repo, baseDir, config } = schema.parse(rawFlags);
  const { paths, childEnv, mask } = await projectOf({
    ...(repo === undefined ? {} : { repo }),
    ...(baseDir === undefined ? {} : { baseDir }),
    ...(config === undefined ? {} : { config }),
  });
  const { removed, kept } = await clean({
    paths,
    git: createGit(paths.repository, childEnv),
    env: childEnv,
    nowMs: Date.now(),
    caches,
    dryRun,
    gitQueue: join(paths.base, 'locks', 'git-worktree.lock'),
    issueHash: (id) =>
      createDirectorySource(paths.issues)
        .read(id)
        .then(({ hash }) => hash)
        .catch(() => null),
    claim: (workflow, id) => {
      try {
        return acquireLock(paths.lock(workflow, id), { workflow, id }, new Date().toISOString());
      } catch (error) {
        if (codeOf(error) !== 'item-locked') throw error;
        return null;
      }
    },
  });
  if (json) {
    process.stdout.write(`${mask(JSON.stringify({ dryRun, removed, kept }, null, 2))}\n`);
    return EXIT.ok;
  }
  const terminal = createTerminal(process.stdout, process.env, mask);
  for (const entry of removed) print(terminal, entry, dryRun ? 'would remove' : 'removed', 'green');
  for (const entry of kept) print(terminal, entry, 'kept', 'yellow');
  if (removed.length === 0) terminal.line('Nothing to remove.');
  return EXIT.ok;
}

function print(terminal: Terminal, entry: CleanEntry, verb: string, style: 'green' | 'yellow'): void {
  const { kind, name, why, discard } = entry;
  terminal.line(`${paint(terminal, style, verb)}  ${kind} ${printable(name)}: ${printable(why)}`);
  if (discard !== null) terminal.line(`      to throw it away: ${printable(discard)}`);
}
