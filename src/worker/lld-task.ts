import { systemClock } from '../core/clock.ts';
import { createFingerprintMask } from '../core/fingerprint.ts';
import { parseItemId } from '../core/ids.ts';
import { withoutSecrets } from '../core/keys.ts';
import { parseModelSpec } from '../core/model-spec.ts';
import { pathsOf } from '../core/paths.ts';
import { costUsd, priceOf } from '../core/prices.ts';
import { Secret } from '../core/secret.ts';
import { createProvider } from '../provider/create.ts';
import { masked } from '../provider/masked.ts';
import { createOfflineProvider } from '../provider/offline/provider.ts';
import type { Provider, Role } from '../provider/port.ts';
import { createDirectorySource } from '../source/directory.ts';
import { runLld } from '../workflow/lld.ts';
import { repositoryContext } from '../workspace/context.ts';
import { createGit } from '../workspace/git.ts';
import { loadPrompts } from '../workspace/prompt-overrides.ts';
import { type BaseCommit, headCommit, openCommit } from '../workspace/repository.ts';
import type { LldInput } from './lld-input.ts';
import type { Task, TaskContext } from './task.ts';

/** The LLD workflow as a task: where the adapters of one item are chosen and put together. */
export const lldTask: Task = async (context) => {
  const input = context.input as LldInput;
  const { config } = input;
  const id = parseItemId(context.id);
  const paths = pathsOf(input.repository, input.base);
  const mask = createFingerprintMask(input.fingerprints);
  const env = withoutSecrets(process.env, [], config.passEnvironment);
  const git = createGit(paths.repository, env);
  const issue = await createDirectorySource(paths.issues).read(id);
  context.emit({
    type: 'item-started',
    title: issue.title,
    attempt: context.attempt,
    reusedSteps: context.journal.steps().length,
  });

  const provider = (role: Role, spec: string): Provider => masked(providerFor(role, spec, input, env, context), mask);
  const commits = new Map<string, Promise<BaseCommit>>();
  const openBase = (commit: string): Promise<BaseCommit> => {
    const opened = commits.get(commit) ?? openCommit(git, commit);
    commits.set(commit, opened);
    return opened;
  };
  return runLld({
    issue,
    paths,
    journal: context.journal,
    providers: {
      drafter: provider('drafter', config.models.drafter),
      reviewer: provider('reviewer', config.models.reviewer),
    },
    prompts: await loadPrompts(paths.prompts),
    budget: {
      costOf: (spec, usage) => {
        const price = priceOf(spec, config.prices);
        return price === null ? null : costUsd(usage, price);
      },
    },
    maxRounds: config.bounds.maxRounds,
    clock: systemClock,
    signal: context.signal,
    emit: context.emit,
    onProgress: context.heartbeat,
    headCommit: () => headCommit(git),
    openBase,
    contextFor: async (base) =>
      mask((await repositoryContext(await openBase(base.commit), issue.raw, config.context)).text),
    mask,
  });
};

function providerFor(
  role: Role,
  spec: string,
  { config, repository, token, endpoints }: LldInput,
  env: Record<string, string>,
  context: TaskContext,
): Provider {
  return createProvider(parseModelSpec(spec), {
    keyOf: () => new Secret(token ?? ''),
    endpointOf: (vendor) => endpoints[vendor],
    idleTimeoutMs: config.bounds.idleTimeoutMs,
    // Waiting for quota is part of the call as the worker sees it, and has a bound of its own in the gateway.
    ceilingMs: config.bounds.callTimeoutMs + config.bounds.maxQuotaWaitMs,
    cwd: repository,
    env,
    onLine: (line) => context.emit({ type: 'output-line', stream: 'stderr', line }),
    onGroup: context.group,
    offline: createOfflineProvider,
  });
}
