import { z } from 'zod';
import { AgentosError, codeOf } from '../../core/errors.ts';
import { EXIT } from '../../core/exit-code.ts';
import type { ItemId } from '../../core/ids.ts';
import type { WorkflowName } from '../../core/paths.ts';
import { createGit } from '../../git/git.ts';
import { createTerminal, paint, printable, type Terminal } from '../../output/terminal.ts';
import { acquireLock } from '../../process/lock.ts';
import { tidyWorkFolder } from '../../process/state-folder.ts';
import { issueBatch } from '../../run/batches.ts';
import { clean } from '../../run/clean/clean.ts';
import { discard } from '../../run/clean/discard.ts';
import type { CleanEntry } from '../../run/sweep.ts';
import { createDirectorySource } from '../../source/directory.ts';
import { isHashOf } from '../../source/port.ts';
import { placeFlagsOf, projectOf, readItemId } from '../request.ts';

const schema = z.object({
  dryRun: z.boolean().optional(),
  json: z.boolean().optional(),
  caches: z.boolean().optional(),
  discard: z.array(z.string()).optional(),
  repo: z.string().optional(),
  baseDir: z.string().optional(),
  config: z.string().optional(),
});

export async function cleanCommand(rawFlags: unknown): Promise<number> {
  const {
    dryRun = false,
    json = false,
    caches = false,
    discard: unwanted,
    repo,
    baseDir,
    config,
  } = schema.parse(rawFlags);
  if (unwanted !== undefined && caches) {
    throw new AgentosError({
      code: 'usage',
      reason: '--discard and --caches exclude each other.',
      hint: 'Write two commands.',
    });
  }
  const ids = unwanted?.map((text) => readItemId(text, repo));
  const place = {
    ...(repo === undefined ? {} : { repo }),
    ...(baseDir === undefined ? {} : { baseDir }),
    ...(config === undefined ? {} : { config }),
  };
  const project = await projectOf(place);
  const { paths, childEnv, mask } = project;
  const lock = (workflow: WorkflowName, id: ItemId) =>
    acquireLock(paths.lock(workflow, id), { workflow, id }, new Date().toISOString());
  const shared = {
    paths,
    git: createGit(paths.repository, childEnv),
    dryRun,
    gitQueue: paths.gitQueue,
  };
  const { removed, kept } =
    ids === undefined
      ? await clean({
          ...shared,
          env: childEnv,
          nowMs: Date.now(),
          caches,
          place: placeFlagsOf(place),
          isIssueHash: (id, stored) =>
            createDirectorySource(paths.issues)
              .read(id)
              .then((issue) => isHashOf(stored, issue))
              .catch(() => false),
          isBriefDone: (id) =>
            issueBatch
              .collect(project, [id])
              .then(([found]) => found?.state === 'done')
              .catch(() => false),
          claim: (workflow, id) => {
            try {
              return lock(workflow, id);
            } catch (error) {
              if (codeOf(error) !== 'item-locked') throw error;
              return null;
            }
          },
        })
      : await discard({ ...shared, lock: (id) => lock('implement', id) }, ids);
  if (!dryRun) await tidyWorkFolder(paths);
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
