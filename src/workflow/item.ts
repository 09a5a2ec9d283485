import type { Clock } from '../core/clock.ts';
import { AgentosError } from '../core/errors.ts';
import type { ItemEvent } from '../core/events.ts';
import { sha256 } from '../core/hash.ts';
import type { ItemId } from '../core/ids.ts';
import { addUsage, type Usage } from '../core/money.ts';
import type { Paths, WorkflowName } from '../core/paths.ts';
import type { Spending } from '../documents/implementation/report.ts';
import type { ReadingWorktree, ReadState } from '../git/worktree/reading.ts';
import type { Journal, StepContext } from '../journal/port.ts';
import type { PromptPart, Provider } from '../models/port.ts';
import type { Prompts } from '../prompts/prompts.ts';
import type { CheckoutGuard } from './checkout-guard.ts';

/** How a workflow ends when it does not fail. */
export interface ItemResult {
  /** skipped: a person dropped it. */
  status: 'succeeded' | 'discuss' | 'skipped';
  /** Why a person has to decide, or what a person said. */
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
  provider: (role: AskedRole) => Provider;
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
  /** A paid call as one durable step: the stored answer if there is one, else one call, stored before anyone sees it. */
  ask: (call: ModelCall) => Promise<string>;
  spending: SpendingLog;
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
}

interface Used {
  usage: Usage;
  metered: boolean;
  costUsd: number | null;
}

interface StoredAnswer extends Used {
  text: string;
}

/** What an item has cost over all its attempts and runs: stored answers were paid for too. */
export interface SpendingLog {
  add(role: string, model: string, used: Used): void;
  all(): Spending[];
}

export function createItem(parts: ItemParts): ItemContext {
  const { journal, clock, signal, emit } = parts;
  const spending = createSpendingLog();

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
    async ask(call) {
      const provider = parts.provider(call.role);
      const prompt = [call.system, ...call.parts.map((part) => part.text)];
      const { value } = await parts.checkout.checked(() =>
        step<StoredAnswer>(
          { name: call.step, inputs: { model: provider.spec, prompt }, model: provider.spec },
          ({ id }) => complete(parts, call, id),
        ),
      );
      spending.add(call.role, provider.spec, value);
      return value.text;
    },
  };
}

/** Most steps cost nothing. */
function stepCost(value: object): number | null {
  if (!('costUsd' in value)) return 0;
  return typeof value.costUsd === 'number' ? value.costUsd : null;
}

async function complete(parts: ItemParts, call: ModelCall, stepId: string): Promise<StoredAnswer> {
  const { costOf, emit, onProgress, signal, clock, checkout, reading } = parts;
  const { step, role, system, at } = call;
  const provider = parts.provider(role);
  const startedAt = clock.now();
  const reply = await provider.complete({
    role,
    system,
    parts: call.parts,
    stepId,
    signal,
    onProgress,
    inFolder: (work) => checkout.before(() => reading.use(at, work)),
  });
  const { text, asked, answered, usage, metered } = reply;
  const ofModel = provider.isModel ? costOf(provider.spec, usage) : 0;
  const costUsd = reply.costUsd === undefined ? ofModel : reply.costUsd;
  emit({
    type: 'model-answered',
    step,
    role,
    asked,
    answered,
    promptHash: sha256([system, ...call.parts.map((part) => part.text)].join('\n\n')),
    replyHash: sha256(text),
    usage,
    metered,
    costUsd,
    durationMs: clock.now() - startedAt,
  });
  if (reply.substituted) {
    emit({ type: 'model-substituted', role, asked, answered: answered ?? 'an unnamed model' });
  }
  const detail = call.unusable(text);
  if (detail !== null) {
    throw new AgentosError({ code: 'provider-bad-reply', provider: provider.spec, detail }, { retry: 'transient' });
  }
  return { text, costUsd, usage, metered };
}

function createSpendingLog(): SpendingLog {
  const roles = new Map<string, Spending>();
  return {
    add(role, model, { usage, metered, costUsd }) {
      const before = roles.get(role);
      roles.set(role, {
        role,
        model,
        calls: (before?.calls ?? 0) + 1,
        usage: before === undefined ? usage : addUsage(before.usage, usage),
        metered: metered && (before?.metered ?? true),
        costUsd: costUsd === null || before?.costUsd === null ? null : (before?.costUsd ?? 0) + costUsd,
      });
    },
    all: () => [...roles.values()],
  };
}
