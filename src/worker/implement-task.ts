import { readFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { createWriter } from '../agent/create.ts';
import { systemClock } from '../core/clock.ts';
import { parseItemId } from '../core/ids.ts';
import { withoutSecrets } from '../core/keys.ts';
import { boundedLines } from '../core/lines.ts';
import { createFingerprintMask } from '../core/mask.ts';
import { parseModelSpec, parseWriterSpec } from '../core/model-spec.ts';
import type { Usage } from '../core/money.ts';
import { pathsOf, workDirectory } from '../core/paths.ts';
import { costUsd, priceOf } from '../core/prices.ts';
import { Secret } from '../core/secret.ts';
import { designFacts } from '../documents/lld/design-facts.ts';
import { bodyHash, readFrontMatter } from '../documents/lld/front-matter.ts';
import { lookOutside } from '../git/checkout-watch.ts';
import { createGit } from '../git/git.ts';
import { itemEnvironment } from '../git/item-environment.ts';
import { commitFiles, headCommit, openCommit } from '../git/repository.ts';
import { stackedBase } from '../git/stacked-base.ts';
import { removeFolder } from '../git/worktree/folder.ts';
import { requireIdentity } from '../git/worktree/worktree.ts';
import { createProvider } from '../models/create.ts';
import { masked } from '../models/masked.ts';
import { createOfflineProvider } from '../offline/provider.ts';
import { createOfflineWriter } from '../offline/writer.ts';
import { prepareWorkFolder, userId } from '../process/work-folder.ts';
import { loadPrompts } from '../prompts/overrides.ts';
import { tracedProvider, tracedTests, tracedWriter } from '../telemetry/traced.ts';
import { detectTests } from '../testing/detect.ts';
import { noSuite } from '../testing/no-suite.ts';
import { folderFiles } from '../testing/project-files.ts';
import { runImplement } from '../workflow/implement.ts';
import { foundationsOf, outdatedFindings, testsFor } from './implement-base.ts';
import { preparedWorktree } from './implement-workspace.ts';
import type { ItemInput } from './item-input.ts';
import type { Task } from './task.ts';

/** Carried by everything that a call of an agent starts, so that nothing of it is left behind. */
const CALL_TAG = 'AGENTOS_CALL';

/** The implementation as a task: where the adapters of one item are chosen and put together. */
export const implementTask: Task = async (context) => {
  const input = context.input as ItemInput;
  const { config } = input;
  const id = parseItemId(input.id);
  const paths = pathsOf(input.repository, input.base, workDirectory(input.base, userId()));
  const mask = createFingerprintMask(input.fingerprints);
  const env = withoutSecrets(process.env, [], config.passEnvironment);
  const git = createGit(paths.repository, env);
  const lldText = await readFile(paths.lld(id), 'utf8');
  const { body } = readFrontMatter(lldText);
  const facts = designFacts(lldText);
  context.emit({
    type: 'item-started',
    title: facts.title,
    attempt: context.attempt,
    reusedSteps: context.journal.steps().length,
  });
  await requireIdentity(git);

  await prepareWorkFolder(paths);
  const directory = paths.worktree('implement', id);
  const home = paths.home('implement', id);
  const itemEnv = await itemEnvironment({
    env: process.env,
    home,
    caches: paths.caches,
    worktree: directory,
    pass: config.passEnvironment,
    keys: [],
    git,
  });
  const { idleTimeoutMs, callTimeoutMs, maxQuotaWaitMs } = config.bounds;
  const limits = { idleTimeoutMs, ceilingMs: callTimeoutMs + maxQuotaWaitMs };
  const linesOf = (of: 'tests' | 'set-up'): ((line: string) => void) =>
    boundedLines((line) => context.emit({ type: 'output-line', stream: 'stdout', line: mask(line), of }));
  const priceFor = (spec: string, usage: Usage): number | null => {
    const price = priceOf(spec, config.prices);
    return price === null ? null : costUsd(usage, price);
  };
  const token = new Secret(input.token ?? '');
  const reviewer = createProvider(parseModelSpec(config.models.reviewer), {
    ...limits,
    keyOf: () => token,
    endpointOf: (vendor) => input.endpoints[vendor],
    cwd: paths.repository,
    env,
    onLine: (line) => context.emit({ type: 'output-line', stream: 'stderr', line }),
    onGroup: context.group,
    offline: createOfflineProvider,
  });
  const writer = createWriter(parseWriterSpec(config.models.implementer), {
    ...limits,
    token,
    endpointOf: (vendor) => input.endpoints[vendor],
    env: itemEnv,
    home,
    caches: paths.caches,
    maxRounds: config.implement.maxAgentRounds,
    costOf: priceFor,
    onGroup: context.group,
    tagVariable: CALL_TAG,
    mask,
    offline: createOfflineWriter,
  });

  const result = await runImplement({
    id,
    lldText,
    lldHash: bodyHash(body),
    title: facts.title,
    paths,
    journal: context.journal,
    writer: tracedWriter(writer),
    reviewer: tracedProvider(masked(reviewer, mask), priceFor),
    prompts: await loadPrompts(paths.prompts),
    budget: { costOf: priceFor },
    policy: config.implement.policy,
    coverage: config.implement.coverage,
    coAuthor: config.implement.coAuthor,
    maxRounds: config.bounds.maxRounds,
    clock: systemClock,
    signal: context.signal,
    emit: context.emit,
    onProgress: context.heartbeat,
    baseCommit: async () => stackedBase(git, await headCommit(git), await foundationsOf(git, paths, facts.after)),
    requireTests: async (base) => {
      const place = { directory: paths.repository, designed: facts.files };
      await testsFor(commitFiles(git, base), config, place);
    },
    outdated: (base) => outdatedFindings({ git, id, lldText, base, files: facts.files }),
    openWorktree: (start) =>
      preparedWorktree({
        git,
        paths,
        id,
        title: facts.title,
        start,
        env,
        itemEnv,
        settings: config.implement,
        signal: context.signal,
        emit: context.emit,
        onLine: linesOf('set-up'),
        onProgress: context.heartbeat,
        onGroup: context.group,
      }),
    openTests: async () => {
      const settings = await testsFor(folderFiles(directory), config, { directory, designed: facts.files });
      if (settings === null) return noSuite(config.tests.files);
      return tracedTests(
        await detectTests({
          directory,
          settings,
          env: itemEnv,
          scratch: join(home, 'test-reports'),
          onLine: linesOf('tests'),
          onProgress: context.heartbeat,
          onGroup: context.group,
        }),
      );
    },
    pathsAt: async (commit) => (await openCommit(git, commit)).paths,
    lookOutside: () =>
      lookOutside({
        repository: paths.repository,
        base: paths.base,
        worktree: directory,
        git,
        // Other items write theirs at the same time.
        except: [relative(paths.repository, dirname(paths.lineage(id)))],
      }),
    mask,
  });
  // What agents and package managers left in it is of no use without the worktree.
  if (result.status === 'succeeded') await removeFolder(home).catch(() => undefined);
  return result;
};
