import { dirname, join, resolve } from 'node:path';
import { type AgentOptions, createProvider } from '../agent/create.ts';
import type { Explore } from '../agent/port.ts';
import { systemClock } from '../core/clock.ts';
import type { Config } from '../core/config.ts';
import { AgentosError, revived } from '../core/errors.ts';
import type { ItemId } from '../core/ids.ts';
import { type VendorName, withoutSecrets } from '../core/keys.ts';
import type { Landing } from '../core/landing.ts';
import { createFingerprintMask, type Fingerprint } from '../core/mask.ts';
import { parseModelSpec } from '../core/model-spec.ts';
import { costUsd, priceOf, type Usage } from '../core/money.ts';
import { pathsOf, type WorkflowName, workDirectory } from '../core/paths.ts';
import type { Reaction } from '../core/reaction.ts';
import { Secret } from '../core/secret.ts';
import { createGit, type Git } from '../git/git.ts';
import type { Provider } from '../models/port.ts';
import { packageRoot } from '../process/own-process.ts';
import { runProgram } from '../process/program.ts';
import type { OpenSandbox, SandboxTool } from '../process/sandbox/sandbox.ts';
import { userId } from '../process/state-folder.ts';
import type { AskedContext, RepositoryContext } from '../prompts/context/context.ts';
import { createPrompts, type PromptFiles } from '../prompts/prompts.ts';
import type { Issue } from '../source/port.ts';
import { tracedProvider } from '../telemetry/traced.ts';
import { isTraced } from '../telemetry/tracer.ts';
import { type AskedRole, createItem, type ItemContext, type ItemParts } from '../workflow/item.ts';
import type { Replay } from '../workflow/replay.ts';
import type { ContextAnswer, ContextRequest } from './context-main.ts';
import { createItemPrograms, type ItemPrograms } from './item-programs.ts';
import type { ItemSandboxOptions } from './item-sandbox.ts';
import type { Task, TaskContext, TaskResult } from './protocol.ts';

/**
 * The input of our own tasks. It holds no key: calls go to the gateway with a token of this item, and fingerprints are enough
 * to recognise a key that a vendor echoes.
 */
export interface ItemInput {
  /** The item's own name; the coordinator may know it by another one. */
  id: ItemId;
  /** The run whose folder gets the transcripts. */
  runId: string;
  repository: string;
  base: string;
  config: Omit<Config, 'keys' | 'endpoints' | 'keyVariables'>;
  /** Null: programs of the item run without one. */
  sandbox: SandboxTool | null;
  /** Folders that the sandbox hides, in addition to the item's own paths. */
  hidden?: readonly string[];
  token: string | null;
  endpoints: Partial<Record<VendorName, string>>;
  fingerprints: Fingerprint[];
  /** The repository's own prompts, as they were when the run started. */
  prompts: PromptFiles;
  /** The hash of the approved LLD when the parent read it: a changed file fails the item. */
  digest?: string;
  /** The issue or brief, read by the parent: a worker calls no service. */
  issue?: Issue;
  /** For a brief: similar issues of a service. */
  existing?: Pick<Issue, 'id' | 'title' | 'body'>[];
  /** For an evaluation. */
  replay?: Pick<Replay, 'past' | 'candidate'>;
  /** For a landing. */
  landing?: Landing;
  /** For a reaction. */
  reaction?: Reaction;
}

export type ItemTools = ReturnType<typeof toolsOf>;
export type Adapters = ReturnType<typeof adaptersOf>;

/** A task with its adapters, which are closed however it ends. */
export function itemTask(workflow: WorkflowName, run: (adapters: Adapters) => Promise<TaskResult>): Task {
  return async (task) => {
    const tools = toolsOf(task, workflow);
    const programs = createItemPrograms(tools);
    try {
      return await run(adaptersOf(tools, programs));
    } finally {
      await programs.close();
    }
  };
}

/** What all adapters of an item are made from. */
function toolsOf(task: TaskContext, workflow: WorkflowName) {
  // Parent and worker are one build, and the parent typed it: see `run/pipeline.ts`.
  const input = task.input as ItemInput;
  const { id, config, repository, base } = input;
  const paths = pathsOf(repository, base, workDirectory(repository, base, userId()));
  const env = withoutSecrets(process.env, [], config.passEnvironment);
  const git = createGit(repository, env);
  const mask = createFingerprintMask(input.fingerprints);
  const home = paths.home(workflow, id);
  const { app } = config.remote;
  const sandbox = openSandbox(input.sandbox, {
    paths,
    home,
    git,
    config,
    // The private key of the GitHub App may be anywhere.
    hidden: [...(input.hidden ?? []), ...(app === null ? [] : [resolve(repository, app.keyFile)])],
    endpoints: Object.values(input.endpoints),
    onNotice: (text) => task.emit({ type: 'notice', text }),
  });
  const { idleTimeoutMs, callTimeoutMs, maxQuotaWaitMs } = config.bounds;
  const calling: AgentOptions = {
    idleTimeoutMs,
    // For the worker a wait for quota is part of the call; the gateway has a separate bound for it.
    ceilingMs: callTimeoutMs + maxQuotaWaitMs,
    token: new Secret(input.token ?? ''),
    endpointOf: (vendor) => input.endpoints[vendor],
    env,
    sandbox,
    onGroup: task.group,
    mask,
    home,
    caches: paths.caches,
    // Logins are shared by repositories: the folder of all their work folders, if there is one.
    ownLogins: { agents: config.ownLogins, locks: paths.work === base ? paths.locks : dirname(paths.work) },
    transcripts: paths.run(input.runId).transcripts(workflow, id),
  };
  return { task, workflow, id, input, paths, git, env, mask, sandbox, calling };
}

/** The module is loaded when a program is first started in a sandbox. */
function openSandbox(tool: SandboxTool | null, options: Omit<ItemSandboxOptions, 'tool'>): OpenSandbox | undefined {
  if (tool === null) return undefined;
  let opened: Promise<OpenSandbox> | null = null;
  return async (wish) => {
    opened ??= import('./item-sandbox.ts').then(({ createItemSandbox }) => createItemSandbox({ ...options, tool }));
    return (await opened)(wish);
  };
}

function adaptersOf(tools: ItemTools, programs: ItemPrograms) {
  const { task, workflow, id, input, paths, git, mask, calling } = tools;
  const { config } = input;
  const { emit, journal, signal } = task;
  const costOf = (spec: string, usage: Usage): number | null => {
    const price = priceOf(spec, config.prices);
    return price === null ? null : costUsd(usage, price);
  };
  const providers = new Map<string, Provider>();
  const provider = (role: AskedRole, spec: string = config.models[role]): Provider => {
    const known = providers.get(spec);
    if (known !== undefined) return known;
    const created = createProvider(parseModelSpec(spec), {
      ...calling,
      onLine: (line) => emit({ type: 'output-line', stream: 'stderr', line: mask(line) }),
      offline: offlineProvider,
      agent: programs.agent,
    });
    const seen = masked(created, mask);
    const wrapped = isTraced() ? tracedProvider(seen, costOf) : seen;
    providers.set(spec, wrapped);
    return wrapped;
  };
  return {
    ...tools,
    costOf,
    /** What models are shown of the repository at a commit. */
    repositoryContext: (commit: string, asked: AskedContext) => buildContext(tools, commit, asked),
    /** Announces the item, and creates its context. */
    async start(facts: Pick<ItemParts, 'title' | 'hash'>): Promise<ItemContext> {
      const { title, hash } = facts;
      emit({ type: 'item-started', title, attempt: task.attempt, reusedSteps: journal.steps().length });
      return createItem({
        workflow,
        id,
        title,
        hash,
        paths,
        journal,
        prompts: createPrompts(new Map(input.prompts)),
        provider,
        explore: explorer(config, git, mask),
        costOf,
        maxRounds: config.bounds.maxRounds,
        clock: systemClock,
        signal,
        emit,
        onProgress: task.heartbeat,
        mask,
        checkout: programs.checkout,
        reading: programs.reading,
      });
    },
  };
}

/** Masks replies at once: a key that a vendor echoes must not get into a checkpoint or a document. */
function masked(provider: Provider, mask: (text: string) => string): Provider {
  return {
    ...provider,
    async complete(request) {
      const reply = await provider.complete(request);
      const parts = reply.parts?.map((part) =>
        part.type === 'tool-call' ? { ...part, input: mask(part.input) } : { ...part, text: mask(part.text) },
      );
      return {
        ...reply,
        ...(parts === undefined ? {} : { parts }),
        text: mask(reply.text),
        answered: reply.answered === null ? null : mask(reply.answered),
      };
    },
  };
}

/** The module is loaded when a model is first asked. */
function explorer({ explore, context }: ItemInput['config'], git: Git, mask: (text: string) => string): Explore | null {
  if (explore === null) return null;
  let loaded: Promise<Explore> | null = null;
  return async (question) => {
    loaded ??= import('../agent/explore.ts').then(({ createExplore }) =>
      createExplore({ ...explore, git, exclude: context.exclude, mask }),
    );
    return (await loaded)(question);
  };
}

/** The module of the recorded tour is loaded only if it is played. */
function offlineProvider(): Provider {
  return {
    spec: 'offline',
    isModel: false,
    complete: async (request) => (await import('../offline/tour.ts')).createOfflineProvider().complete(request),
  };
}

const TIMEOUT_MS = 5 * 60_000;

/** Runs in a process of its own: a worker that waits for a model must not hold the words of a whole repository in memory. */
async function buildContext(
  { task, input, paths, env, mask }: ItemTools,
  commit: string,
  asked: AskedContext,
): Promise<RepositoryContext> {
  const { repository, contextIndex: index } = paths;
  const request: ContextRequest = { repository, commit, asked, options: input.config.context, index };
  const end = await runProgram({
    command: [process.execPath, join(packageRoot(), 'dist', 'context.js')],
    cwd: repository,
    input: JSON.stringify(request),
    timeoutMs: TIMEOUT_MS,
    env,
    signal: task.signal,
    onGroup: task.group,
    onProgress: task.heartbeat,
  });
  if (end.exitCode === 0) {
    const answer = JSON.parse(end.stdout) as ContextAnswer;
    if ('context' in answer) return { ...answer.context, text: mask(answer.context.text) };
    throw revived(answer.error);
  }
  const { exitCode, signal } = end;
  const detail = end.timedOut ? 'reading the repository took too long' : end.tail;
  throw new AgentosError({ code: 'worker-crashed', detail, exitCode, signal }, { retry: 'transient' });
}
