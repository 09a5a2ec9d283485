import type { Explore, ExploringCall, WriteReply } from '../agent/port.ts';
import type { Clock } from '../core/clock.ts';
import { AgentosError } from '../core/errors.ts';
import type { ItemEvent } from '../core/events.ts';
import { sha256 } from '../core/hash.ts';
import type { ItemId } from '../core/ids.ts';
import { boundedLines } from '../core/lines.ts';
import { addUse, type ModelUse, type Usage } from '../core/money.ts';
import type { Paths, WorkflowName } from '../core/paths.ts';
import type { ReadingWorktree, ReadState } from '../git/worktree/reading.ts';
import type { Journal, StepContext, StepKey, StepResult } from '../journal/port.ts';
import type { ModelReply, ModelRequest, PromptPart, Provider } from '../models/port.ts';
import type { Prompts } from '../prompts/prompts.ts';
import type { Spending } from '../verification/report.ts';
import type { CheckoutGuard } from './checkout-guard.ts';
import { decisionStep, type Question, questionStep } from './decide.ts';

/** How a workflow ends when it does not fail. */
export interface ItemResult {
  /** skipped: a person dropped it, or it was already done. */
  status: 'succeeded' | 'discuss' | 'skipped';
  /** Why a person has to decide, what a person said, or what shows that it was already done. */
  reason: string | null;
  outputs: string[];
}

export type AskedRole = 'drafter' | 'reviewer';

/** What the worker provides for every item, whatever its workflow. */
export interface ItemParts {
  workflow: WorkflowName;
  id: ItemId;
  title: string;
  /** The hash of the input: the issue, the brief or the LLD. A person's decision is valid for this text only. */
  hash: string;
  paths: Paths;
  journal: Journal;
  prompts: Prompts;
  /** The configured model of a role, or the one that is named. */
  provider: (role: AskedRole, spec?: string) => Provider;
  /** Lets models look at the repository before they answer; null: each question is one call. */
  explore: Explore | null;
  /** The price of what was used; null: not known. */
  costOf: (spec: string, usage: Usage) => number | null;
  maxRounds: number;
  clock: Clock;
  signal: AbortSignal;
  emit: (event: ItemEvent) => void;
  /** A sign of life. */
  onProgress: () => void;
  /** Masks known secrets in text that is stored or logged. */
  mask: (text: string) => string;
  /** Detects changes that programs of this item make outside their folders. */
  checkout: CheckoutGuard;
  /** For models that are programs: a folder with the files of a commit, made on first use. */
  reading: Pick<ReadingWorktree, 'use'>;
}

/** One item in its workflow. Every function of the workflow gets it whole. */
export type ItemContext = ReturnType<typeof createItem>;

interface ItemStep extends StepKey {
  /** The model that is called, if any. */
  model?: string;
}

export interface ModelCall {
  /** The step's name: `draft`, `review-2`. */
  step: string;
  role: AskedRole;
  system: string;
  /** Parts of the prompt that stay the same over the rounds, which vendors can cache, and those behind them. */
  repeating: readonly string[];
  parts: readonly string[];
  /** The state of the repository that the question is about. */
  at: ReadState;
  /** Why a reply is not an answer (a banner, a refusal); null: it is one. Otherwise the call fails and nothing is stored. */
  unusable: (text: string) => string | null;
  /** Hides the parts that don't repeat, which are to be judged, while the model explores the repository with tools. */
  withholds?: boolean;
}

type Used = Pick<WriteReply, 'usage' | 'metered' | 'costUsd' | 'models'>;
type StoredAnswer = Used & Pick<ModelReply, 'text' | 'parts'>;

export function createItem(parts: ItemParts) {
  const { journal, clock, signal, emit, explore, mask, checkout, provider: providerOf } = parts;
  const spending = createSpendingLog();
  const models = createItemModels(journal, parts.hash);

  /** A journal step that also emits started and finished events. */
  const step = async <T extends object>(
    { model, ...key }: ItemStep,
    run: (context: StepContext) => Promise<T>,
  ): Promise<StepResult<T>> => {
    signal.throwIfAborted();
    const startedAt = clock.now();
    const { name } = key;
    const { value, replayed } = await journal.step(key, (context) => {
      emit({ type: 'step-started', step: name, model: model ?? null });
      return run(context);
    });
    const durationMs = clock.now() - startedAt;
    emit({ type: 'step-finished', step: name, replayed, costUsd: stepCost(value), durationMs });
    return { value, replayed };
  };

  /**
   * A paid call as one durable step: the stored answer, or one call whose answer is stored first. A model that calls tools
   * is asked again with their results, as `draft.2`, `draft.3`, …, until it calls none.
   */
  const ask = async (call: ModelCall): Promise<string> => {
    const { role, system, at, withholds = false } = call;
    const opening: PromptPart[] = [
      ...call.repeating.map((text) => ({ text, repeats: true })),
      ...call.parts.map((text) => ({ text })),
    ];
    const promptOf = (asked: { system: string; parts: PromptPart[] }): string[] => [
      asked.system,
      ...asked.parts.map(({ text }) => text),
    ];
    const first = promptOf({ system, parts: opening });
    const model = models.pick(role, providerOf(role).spec, (spec) => ({
      name: call.step,
      inputs: { model: spec, prompt: first },
    }));
    const provider = providerOf(role, model);
    const askOnce = async (asked: ExploringCall): Promise<StoredAnswer & { replayed: boolean }> => {
      // The first question has the same key with and without tools.
      const isFirst = asked.round === 1;
      const { tools, mayCall, turns } = asked.conversation ?? {};
      const said = isFirst ? {} : { tools, mayCall, turns };
      const name = isFirst ? call.step : `${call.step}.${asked.round}`;
      const inputs = { model, prompt: isFirst ? first : promptOf(asked), ...said };
      const { value, replayed } = await checkout.checked(() =>
        step({ name, inputs, model }, ({ id }) => complete(parts, provider, call, { ...asked, name, stepId: id })),
      );
      spending.add(role, model, value);
      return { ...value, replayed };
    };
    if (explore === null || provider.takesTools !== true) {
      const reply = await askOnce({ round: 1, system, parts: opening, conversation: null, mayEnd: true });
      return reply.text;
    }
    const onLine = boundedLines((line) => emit({ type: 'output-line', stream: 'stdout', line: mask(line) }));
    return explore({ ...at, withholds, spec: model, system, parts: opening, ask: askOnce, signal, onLine });
  };

  return { ...parts, step, ask, spending, models };
}

/** Most steps cost nothing. */
function stepCost(value: object): number | null {
  if (!('costUsd' in value)) return 0;
  return typeof value.costUsd === 'number' ? value.costUsd : null;
}

async function complete(
  { costOf, emit, onProgress, signal, clock, checkout, reading }: ItemParts,
  provider: Provider,
  { role, at, unusable }: ModelCall,
  { name: step, stepId, system, parts, conversation, mayEnd }: ExploringCall & { name: string; stepId: string },
): Promise<StoredAnswer> {
  const startedAt = clock.now();
  const inFolder: ModelRequest['inFolder'] = (work) => checkout.before(() => reading.use(at, work));
  const request = { role, system, parts, stepId, signal, onProgress, inFolder };
  const reply = await provider.complete(conversation === null ? request : { ...request, conversation });
  const { text, parts: called, asked, answered, substituted, usage, metered, models } = reply;
  const ofModel = !provider.isModel ? 0 : metered ? costOf(provider.spec, usage) : null;
  const costUsd = reply.costUsd === undefined ? ofModel : reply.costUsd;
  emit({
    type: 'model-answered',
    step,
    role,
    asked,
    answered,
    promptHash: sha256([system, ...parts.map((part) => part.text)].join('\n\n')),
    replyHash: sha256(text),
    usage,
    metered,
    costUsd,
    durationMs: clock.now() - startedAt,
  });
  if (substituted) emit({ type: 'model-substituted', role, asked, answered: answered ?? 'an unnamed model' });
  const detail = mayEnd && called === undefined ? unusable(text) : null;
  if (detail !== null)
    throw new AgentosError({ code: 'provider-bad-reply', provider: provider.spec, detail }, { retry: 'transient' });
  return {
    text,
    ...(called === undefined ? {} : { parts: called }),
    costUsd,
    usage,
    metered,
    ...(models === undefined ? {} : { models }),
  };
}

/** What an item has cost over all attempts and runs, replayed answers included. */
function createSpendingLog() {
  const roles = new Map<string, { uses: ModelUse[]; metered: boolean }>();
  return {
    add(role: string, model: string, used: Used): void {
      const { usage, metered, costUsd, models = [{ model, calls: 1, usage, costUsd }] } = used;
      const known = roles.get(role);
      let uses = known?.uses ?? [];
      // An agent may call several models: each is listed.
      for (const use of models)
        uses = addUse(uses, { ...use, model: use.model === model ? model : `${model} (${use.model})` });
      roles.set(role, { uses, metered: metered && (known?.metered ?? true) });
    },
    all: (): Spending[] =>
      [...roles].flatMap(([role, { uses, metered }]) => uses.map((use) => ({ role, ...use, metered }))),
  };
}

type ModelRole = AskedRole | 'implementer';

/** Which model answers each step of an item. */
function createItemModels(journal: Pick<Journal, 'has' | 'last'>, hash: string) {
  const picked = new Map<ModelRole, string>();
  const decided = decidedQuestions(journal, hash);
  return {
    /**
     * The configured model, unless a person has decided on the stored answer of another one: a decision stays valid when
     * other models are configured.
     */
    pick(role: ModelRole, configured: string, keyOf: (model: string) => StepKey): string {
      const earlier = decided.flatMap(({ models }) => models?.[role] ?? []);
      const model = earlier.find((each) => journal.has(keyOf(each))) ?? configured;
      picked.set(role, model);
      return model;
    },
    /** The model that was picked last, for a role that was asked before. */
    last(role: ModelRole): string {
      const model = picked.get(role);
      if (model === undefined) throw new TypeError(`no ${role} was asked`);
      return model;
    },
    /** The last one of each role. */
    all: (): Record<string, string> => Object.fromEntries(picked),
  };
}

/** Questions about this version of the item that a person has answered, newest first. */
function decidedQuestions(journal: Pick<Journal, 'has' | 'last'>, hash: string): Question[] {
  const decided: Question[] = [];
  for (let count = 1; ; count++) {
    // Only `createDecider` stores steps of this name.
    const question = journal.last(questionStep(count)) as Question | undefined;
    if (question === undefined) return decided.reverse();
    const isDecided = journal.has({ name: decisionStep(count), inputs: question });
    if (isDecided && question.input === hash) decided.push(question);
  }
}
