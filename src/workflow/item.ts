import type { Explore, ExploringCall, ExploringReply } from '../agent/port.ts';
import type { Clock } from '../core/clock.ts';
import { AgentosError } from '../core/errors.ts';
import type { ItemEvent } from '../core/events.ts';
import { sha256 } from '../core/hash.ts';
import type { ItemId } from '../core/ids.ts';
import { boundedLines } from '../core/lines.ts';
import { addUse, type ModelUse, type Usage } from '../core/money.ts';
import type { Paths, WorkflowName } from '../core/paths.ts';
import type { Spending } from '../documents/implementation/report.ts';
import type { ReadingWorktree, ReadState } from '../git/worktree/reading.ts';
import type { Journal, StepContext } from '../journal/port.ts';
import type { ModelReply, ModelRequest, PromptPart, Provider } from '../models/port.ts';
import type { Prompts } from '../prompts/prompts.ts';
import type { CheckoutGuard } from './checkout-guard.ts';
import { createItemModels, type ItemModels } from './item-models.ts';

/** How a workflow ends when it does not fail. */
export interface ItemResult {
  /** skipped: a person dropped it, or it was already done. */
  status: 'succeeded' | 'discuss' | 'skipped';
  /** Why a person has to decide, what a person said, or what shows that it was already done. */
  reason: string | null;
  outputs: string[];
}

export type AskedRole = 'drafter' | 'reviewer';

/** What the worker brings for an item, whatever its workflow. */
export interface ItemParts {
  workflow: WorkflowName;
  id: ItemId;
  title: string;
  /** Of what the item is made from: the issue, the brief, the LLD. A person's decision counts for this text only. */
  hash: string;
  paths: Paths;
  journal: Journal;
  prompts: Prompts;
  /** The model of a role: the one that is configured, or the one that is named. */
  provider: (role: AskedRole, spec?: string) => Provider;
  /** Lets models look at the repository before they answer; null: they are asked once. */
  explore: Explore | null;
  /** The price of what was used, or null when it is not known. */
  costOf: (spec: string, usage: Usage) => number | null;
  maxRounds: number;
  clock: Clock;
  signal: AbortSignal;
  emit: (event: ItemEvent) => void;
  /** A sign of life. */
  onProgress: () => void;
  /** Removes known secrets from what is written to files. */
  mask: (text: string) => string;
  /** Detects what programs of this item change outside of their folders. */
  checkout: CheckoutGuard;
  /** For models that are programs: a folder with these files, made when it is first needed. */
  reading: Pick<ReadingWorktree, 'use'>;
}

/** One item on its way through its workflow: every part of the workflow gets it whole. */
export interface ItemContext extends ItemParts {
  /** A journal step that also emits started and finished events. */
  step: <T extends object>(step: ItemStep, run: (context: StepContext) => Promise<T>) => Promise<Stepped<T>>;
  /**
   * A paid call as one durable step: the stored answer if there is one, else one call, stored before anyone sees it. A model
   * that calls tools is asked again with their results, as `draft.2`, `draft.3`, …, until it calls none.
   */
  ask: (call: ModelCall) => Promise<string>;
  spending: SpendingLog;
  models: ItemModels;
}

export interface ItemStep {
  name: string;
  inputs: unknown;
  /** The model that does it, if one does. */
  model?: string;
}

export interface Stepped<T> {
  value: T;
  replayed: boolean;
}

export interface ModelCall {
  /** The step's name: `draft`, `review-2`. */
  step: string;
  role: AskedRole;
  system: string;
  parts: PromptPart[];
  /** The state of the repository that the question is about. */
  at: ReadState;
  /** Says why a reply is no answer at all (a banner, a refusal), or null. Such a reply is a failure and is not stored. */
  unusable: (text: string) => string | null;
  /** What it judges, the parts that don't repeat, is withheld from a model while it looks at the repository with tools. */
  withholds?: boolean;
}

interface Used {
  usage: Usage;
  metered: boolean;
  costUsd: number | null;
  models?: ModelUse[];
}

interface StoredAnswer extends Used, Pick<ModelReply, 'text' | 'parts'> {}

/** What an item has cost over all its attempts and runs: stored answers were paid for too. */
export interface SpendingLog {
  add(role: string, model: string, used: Used): void;
  all(): Spending[];
}

export function createItem(parts: ItemParts): ItemContext {
  const { journal, clock, signal, emit, explore, mask } = parts;
  const spending = createSpendingLog();
  const models = createItemModels(journal, parts.hash);

  const step = async <T extends object>(
    { name, inputs, model }: ItemStep,
    run: (context: StepContext) => Promise<T>,
  ): Promise<Stepped<T>> => {
    signal.throwIfAborted();
    const startedAt = clock.now();
    const { value, replayed } = await journal.step({ name, inputs }, (context) => {
      emit({ type: 'step-started', step: name, model: model ?? null });
      return run(context);
    });
    const durationMs = clock.now() - startedAt;
    emit({ type: 'step-finished', step: name, replayed, costUsd: stepCost(value), durationMs });
    return { value, replayed };
  };

  return {
    ...parts,
    step,
    spending,
    models,
    async ask(call) {
      const { role, system, at, withholds = false } = call;
      const first = [system, ...call.parts.map((part) => part.text)];
      const keyOf = (spec: string) => ({ name: call.step, inputs: { model: spec, prompt: first } });
      const model = models.pick(role, parts.provider(role).spec, keyOf);
      const provider = parts.provider(role, model);
      const ask = async (asked: ExploringCall): Promise<ExploringReply> => {
        // The first question is the same with and without tools, and so is the step that stores its answer.
        const opening = asked.round === 1 ? call : asked;
        const prompt = [opening.system, ...opening.parts.map((part) => part.text)];
        const { tools, mayCall, turnsWith } = asked.conversation ?? {};
        const said = asked.round === 1 ? {} : { tools, mayCall, turns: turnsWith?.(undefined) };
        const name = asked.round === 1 ? call.step : `${call.step}.${asked.round}`;
        const { value, replayed } = await parts.checkout.checked(() =>
          step<StoredAnswer>({ name, inputs: { model, prompt, ...said }, model }, ({ id }) =>
            complete(parts, call, { ...asked, name, stepId: id }),
          ),
        );
        spending.add(role, model, value);
        return { ...value, replayed };
      };
      if (explore === null || provider.takesTools !== true) {
        const reply = await ask({ round: 1, system, parts: call.parts, conversation: null, mayEnd: true });
        return reply.text;
      }
      const onLine = boundedLines((line) => emit({ type: 'output-line', stream: 'stdout', line: mask(line) }));
      return await explore({ ...at, withholds, spec: model, system, parts: call.parts, ask, signal, onLine });
    },
  };
}

/** Most steps cost nothing. */
function stepCost(value: object): number | null {
  if (!('costUsd' in value)) return 0;
  return typeof value.costUsd === 'number' ? value.costUsd : null;
}

async function complete(
  parts: ItemParts,
  { role, at, unusable }: ModelCall,
  { name: step, stepId, system, parts: shown, conversation, mayEnd }: ExploringCall & { name: string; stepId: string },
): Promise<StoredAnswer> {
  const { costOf, emit, onProgress, signal, clock, checkout, reading } = parts;
  const provider = parts.provider(role);
  const startedAt = clock.now();
  const inFolder: ModelRequest['inFolder'] = (work) => checkout.before(() => reading.use(at, work));
  const request = { role, system, parts: shown, stepId, signal, onProgress, inFolder };
  const reply = await provider.complete(conversation === null ? request : { ...request, conversation });
  const { text, asked, answered, usage, metered } = reply;
  const ofModel = !provider.isModel ? 0 : metered ? costOf(provider.spec, usage) : null;
  const costUsd = reply.costUsd === undefined ? ofModel : reply.costUsd;
  emit({
    type: 'model-answered',
    step,
    role,
    asked,
    answered,
    promptHash: sha256([system, ...shown.map((part) => part.text)].join('\n\n')),
    replyHash: sha256(text),
    usage,
    metered,
    costUsd,
    durationMs: clock.now() - startedAt,
  });
  if (reply.substituted) {
    emit({ type: 'model-substituted', role, asked, answered: answered ?? 'an unnamed model' });
  }
  const detail = mayEnd && reply.parts === undefined ? unusable(text) : null;
  if (detail !== null) {
    throw new AgentosError({ code: 'provider-bad-reply', provider: provider.spec, detail }, { retry: 'transient' });
  }
  const called = reply.parts === undefined ? {} : { parts: reply.parts };
  const byModel = reply.models === undefined ? {} : { models: reply.models };
  return { text, ...called, costUsd, usage, metered, ...byModel };
}

function createSpendingLog(): SpendingLog {
  const roles = new Map<string, { uses: ModelUse[]; metered: boolean }>();
  return {
    add(role, model, { usage, metered, costUsd, models = [{ model, calls: 1, usage, costUsd }] }) {
      const known = roles.get(role);
      let uses = known?.uses ?? [];
      // An agent has helpers beside its model: each is named.
      for (const use of models)
        uses = addUse(uses, { ...use, model: use.model === model ? model : `${model} (${use.model})` });
      roles.set(role, { uses, metered: metered && (known?.metered ?? true) });
    },
    all: () => [...roles].flatMap(([role, { uses, metered }]) => uses.map((use) => ({ role, ...use, metered }))),
  };
}
