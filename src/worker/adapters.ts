import { resolve } from 'node:path';
import type { Explore } from '../agent/port.ts';
import type { ReadableFiles } from '../agent/tools/reading.ts';
import { createTranscripts, type OpenTranscript } from '../agent/transcript.ts';
import { systemClock } from '../core/clock.ts';
import type { Config } from '../core/config.ts';
import { parseItemId } from '../core/ids.ts';
import { type VendorName, withoutSecrets } from '../core/keys.ts';
import type { Landing } from '../core/landing.ts';
import { createFingerprintMask, type Fingerprint, MASK } from '../core/mask.ts';
import { parseModelSpec } from '../core/model-spec.ts';
import { costUsd, priceOf, type Usage } from '../core/money.ts';
import { type Paths, pathsOf, type WorkflowName, workDirectory } from '../core/paths.ts';
import type { Reaction } from '../core/reaction.ts';
import { Secret } from '../core/secret.ts';
import { createGit, type Git } from '../git/git.ts';
import { type BaseCommit, headCommit, openCommit } from '../git/repository.ts';
import type { CallLimits } from '../models/call-bounds.ts';
import { createProvider } from '../models/create.ts';
import type { Provider } from '../models/port.ts';
import type { OpenSandbox, SandboxTool } from '../process/sandbox/sandbox.ts';
import { userId } from '../process/state-folder.ts';
import type { AskedContext, RepositoryContext } from '../prompts/context/context.ts';
import { createPrompts, type PromptFiles } from '../prompts/prompts.ts';
import type { Issue } from '../source/port.ts';
import { tracedProvider } from '../telemetry/traced.ts';
import type { DocumentRepository } from '../workflow/document.ts';
import { type AskedRole, createItem, type ItemContext, type ItemParts } from '../workflow/item.ts';
import type { Replay } from '../workflow/replay.ts';
import { buildContext } from './context-process.ts';
import { createItemPrograms } from './item-programs.ts';
import type { ItemSandboxOptions } from './item-sandbox.ts';
import type { Task, TaskContext, TaskResult } from './protocol.ts';

/**
 * The input of our own tasks. There is no key in it: calls go to the gateway, with a token that is good for this item only,
 * and fingerprints are enough to recognise a key that a vendor echoes.
 */
export interface ItemInput {
  /** The item's own name; the coordinator may know it by another one. */
  id: string;
  /** Whose folder gets the transcripts. */
  runId: string;
  repository: string;
  base: string;
  config: Omit<Config, 'keys' | 'endpoints' | 'keyVariables'>;
  /** What programs of the item run in; null: they run without one. */
  sandbox: SandboxTool | null;
  /** Folders that are hidden from them beyond those of the item's own paths. */
  hidden?: readonly string[];
  token: string | null;
  endpoints: Partial<Record<VendorName, string>>;
  fingerprints: Fingerprint[];
  /** Prompts in place of ours, as they were when the run began. */
  prompts: PromptFiles;
  /** Of the approved document that the item is made from, by the parent: what is in its place later is another one. */
  digest?: string;
  /** What the item is made from, for a design or an issue: a worker asks no service. */
  issue?: Issue;
  /** For a brief: issues of a service that it looks like. */
  existing?: Pick<Issue, 'id' | 'title' | 'body'>[];
  /** Of an evaluation: what is replayed. */
  replay?: Pick<Replay, 'past' | 'candidate'>;
  /** Of a landing: the branches, and what they are combined on. */
  landing?: Landing;
  /** Of a reaction: what happened to the pull request. */
  reaction?: Reaction;
}

/** The adapters of one item, whatever its workflow. */
export interface Adapters {
  input: ItemInput;
  paths: Paths;
  git: Git;
  /** What git and the models' commands see of the environment. */
  env: Record<string, string>;
  mask: (text: string) => string;
  /** The item's token for the gateway. */
  token: Secret;
  /** Undefined: programs of the item run without one. */
  sandbox: OpenSandbox | undefined;
  /** Of one call. */
  limits: CallLimits;
  transcripts: OpenTranscript;
  costOf: ItemParts['costOf'];
  /** What models are shown of the repository at a commit. */
  repositoryContext: (commit: string, asked: AskedContext) => Promise<RepositoryContext>;
  /** Announces the item, and puts its context together. */
  start(facts: Pick<ItemParts, 'id' | 'title' | 'hash'>): Promise<ItemContext>;
  close(): Promise<void>;
}

function createAdapters(context: TaskContext, workflow: WorkflowName): Adapters {
  // Parent and worker are one build, and the parent typed it: see `run/pipeline.ts`.
  const input = context.input as ItemInput;
  const { config } = input;
  const paths = pathsOf(input.repository, input.base, workDirectory(input.repository, input.base, userId()));
  const mask = createFingerprintMask(input.fingerprints);
  const env = withoutSecrets(process.env, [], config.passEnvironment);
  const token = new Secret(input.token ?? '');
  const { idleTimeoutMs, callTimeoutMs, maxQuotaWaitMs, maxRounds } = config.bounds;
  // Waiting for quota is part of the call as the worker sees it, and has a bound of its own in the gateway.
  const limits = { idleTimeoutMs, ceilingMs: callTimeoutMs + maxQuotaWaitMs };
  const costOf = (spec: string, usage: Usage): number | null => {
    const price = priceOf(spec, config.prices);
    return price === null ? null : costUsd(usage, price);
  };
  const git = createGit(paths.repository, env);
  const folder = paths.run(input.runId).transcripts(workflow, parseItemId(input.id));
  const transcripts = createTranscripts(folder, (text) => mask(hidden(text, input.token)));
  const sandbox = openSandbox(input.sandbox, {
    paths,
    home: paths.home(workflow, parseItemId(input.id)),
    git,
    config,
    hidden: [...(input.hidden ?? []), ...appKeys(input)],
    endpoints: Object.values(input.endpoints),
    onNotice: (text) => context.emit({ type: 'notice', text }),
  });
  const parts = { context, workflow, input, paths, git, env, sandbox, token, limits, mask, transcripts };
  const programs = createItemPrograms(parts);
  const providers = new Map<string, Provider>();
  const provider = (role: AskedRole, spec: string = config.models[role]): Provider => {
    const key = `${role} ${spec}`;
    const known = providers.get(key);
    if (known !== undefined) return known;
    const created = createProvider(parseModelSpec(spec), {
      ...limits,
      token,
      endpointOf: (vendor) => input.endpoints[vendor],
      env,
      sandbox,
      onLine: (line) => context.emit({ type: 'output-line', stream: 'stderr', line: mask(line) }),
      mask,
      onGroup: context.group,
      offline: offlineProvider,
      agent: programs.agent,
    });
    const wrapped = tracedProvider(masked(created, mask), costOf);
    providers.set(key, wrapped);
    return wrapped;
  };
  return {
    input,
    paths,
    git,
    env,
    mask,
    sandbox,
    token,
    limits,
    transcripts,
    costOf,
    async repositoryContext(commit, asked) {
      const { title, body, files } = asked;
      const built = await buildContext(
        {
          repository: paths.repository,
          commit,
          asked: { title, body, ...(files === undefined ? {} : { files }) },
          options: config.context,
          index: paths.contextIndex,
        },
        { env, signal: context.signal, onGroup: context.group, onProgress: context.heartbeat },
      );
      return { ...built, text: mask(built.text) };
    },
    async start({ id, title, hash }) {
      const { emit, attempt, journal, signal, heartbeat } = context;
      emit({ type: 'item-started', title, attempt, reusedSteps: journal.steps().length });
      return createItem({
        workflow,
        id,
        title,
        hash,
        paths,
        journal,
        prompts: createPrompts(new Map(input.prompts)),
        provider,
        explore: explorer(config, createGit(paths.repository, env), mask),
        costOf,
        maxRounds,
        clock: systemClock,
        signal,
        emit,
        onProgress: heartbeat,
        mask,
        checkout: programs.checkout,
        reading: programs.reading,
      });
    },
    close: () => programs.close(),
  };
}

/** Loaded when a program is first started in one. */
function openSandbox(tool: SandboxTool | null, options: Omit<ItemSandboxOptions, 'tool'>): OpenSandbox | undefined {
  if (tool === null) return undefined;
  let opened: Promise<OpenSandbox> | null = null;
  return async (wish) => {
    opened ??= import('./item-sandbox.ts').then(({ createItemSandbox }) => createItemSandbox({ ...options, tool }));
    return (await opened)(wish);
  };
}

/** What the parent read for the item. */
export function issueIn({ issue, id }: ItemInput): Issue {
  if (issue === undefined) throw new TypeError(`nothing was handed over for ${id}`);
  return issue;
}

/** A task with its adapters, which are closed however it ends. */
export function itemTask(
  workflow: WorkflowName,
  run: (adapters: Adapters, context: TaskContext) => Promise<TaskResult>,
): Task {
  return async (context) => {
    const adapters = createAdapters(context, workflow);
    try {
      return await run(adapters, context);
    } finally {
      await adapters.close();
    }
  };
}

/** The private key of the GitHub App, wherever it is. */
function appKeys({ repository, config }: ItemInput): string[] {
  const { app } = config.remote;
  return app === null ? [] : [resolve(repository, app.keyFile)];
}

function hidden(text: string, secret: string | null): string {
  return secret === null ? text : text.replaceAll(secret, MASK);
}

/** A vendor that echoes a key must not get it into a checkpoint or a document, so that replies are masked at once. */
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

/** Loaded when a model is first asked. */
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

/** The recorded tour, loaded only where it is played. */
function offlineProvider(): Provider {
  return {
    spec: 'offline',
    isModel: false,
    complete: async (request) => (await import('../offline/tour.ts')).createOfflineProvider().complete(request),
  };
}

/** The repository as the workflows of documents see it; a commit is opened once. */
export function documentRepository({ git, input, mask, repositoryContext }: Adapters): DocumentRepository {
  let shown: { commit: string; files: Pick<ReadableFiles, 'read'> } | null = null;
  const commits = new Map<string, Promise<BaseCommit>>();
  const open = (commit: string): Promise<BaseCommit> => {
    const opened = commits.get(commit) ?? openCommit(git, commit);
    commits.set(commit, opened);
    return opened;
  };
  return {
    headCommit: () => headCommit(git),
    open,
    async shownText(commit, path) {
      if (shown?.commit !== commit) {
        const { readableCommit } = await import('../agent/commit-files.ts');
        shown = { commit, files: readableCommit(git, commit, input.config.context.exclude) };
      }
      // What is refused here is refused to a model's tools in the same words.
      return shown.files.read(path).then(
        ({ text }) => mask(text),
        () => null,
      );
    },
    contextFor: async (commit, asked) => (await repositoryContext(commit, asked)).text,
  };
}
