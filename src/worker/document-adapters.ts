import { systemClock } from '../core/clock.ts';
import type { Role } from '../core/config.ts';
import { withoutSecrets } from '../core/keys.ts';
import { createFingerprintMask } from '../core/mask.ts';
import { parseModelSpec } from '../core/model-spec.ts';
import type { Usage } from '../core/money.ts';
import { pathsOf } from '../core/paths.ts';
import { costUsd, priceOf } from '../core/prices.ts';
import { Secret } from '../core/secret.ts';
import { createGit } from '../git/git.ts';
import { type BaseCommit, headCommit, openCommit } from '../git/repository.ts';
import { createProvider } from '../models/create.ts';
import { masked } from '../models/masked.ts';
import type { Provider } from '../models/port.ts';
import { createOfflineProvider } from '../offline/provider.ts';
import { repositoryContext } from '../prompts/context/context.ts';
import { loadPrompts } from '../prompts/overrides.ts';
import type { Issue } from '../source/port.ts';
import { tracedProvider } from '../telemetry/traced.ts';
import type { DocumentDependencies } from '../workflow/document.ts';
import type { ItemInput } from './item-input.ts';
import type { TaskContext } from './task.ts';

/** The adapters of one item whose result is a reviewed document. */
export async function documentAdapters(context: TaskContext, input: ItemInput): Promise<DocumentDependencies> {
  const { config } = input;
  const paths = pathsOf(input.repository, input.base);
  const mask = createFingerprintMask(input.fingerprints);
  const env = withoutSecrets(process.env, [], config.passEnvironment);
  const git = createGit(paths.repository, env);
  const costOf = (spec: string, usage: Usage): number | null => {
    const price = priceOf(spec, config.prices);
    return price === null ? null : costUsd(usage, price);
  };
  const provider = (role: Role, spec: string): Provider =>
    tracedProvider(masked(providerFor(role, spec, input, env, context), mask), costOf);
  const commits = new Map<string, Promise<BaseCommit>>();
  const openBase = (commit: string): Promise<BaseCommit> => {
    const opened = commits.get(commit) ?? openCommit(git, commit);
    commits.set(commit, opened);
    return opened;
  };
  return {
    paths,
    journal: context.journal,
    providers: {
      drafter: provider('drafter', config.models.drafter),
      reviewer: provider('reviewer', config.models.reviewer),
    },
    prompts: await loadPrompts(paths.prompts),
    budget: { costOf },
    maxRounds: config.bounds.maxRounds,
    clock: systemClock,
    signal: context.signal,
    emit: context.emit,
    onProgress: context.heartbeat,
    headCommit: () => headCommit(git),
    openBase,
    contextFor: async ({ commit }, text) =>
      mask((await repositoryContext(await openBase(commit), text, config.context)).text),
    mask,
  };
}

export function tellStarted({ emit, attempt, journal }: TaskContext, { title }: Issue): void {
  emit({ type: 'item-started', title, attempt, reusedSteps: journal.steps().length });
}

function providerFor(
  role: Role,
  spec: string,
  { config, repository, token, endpoints }: ItemInput,
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
