import type { Clock } from '../core/clock.ts';
import { AgentosError } from '../core/errors.ts';
import type { ItemEvent } from '../core/events.ts';
import { sha256 } from '../core/hash.ts';
import type { Usage } from '../core/money.ts';
import type { Journal } from '../journal/port.ts';
import type { PromptPart, Provider } from '../models/port.ts';

type CallRole = 'drafter' | 'reviewer';

export interface ModelCall<R extends CallRole = CallRole> {
  /** The step's name: `draft`, `review-2`. */
  step: string;
  role: R;
  system: string;
  parts: PromptPart[];
  /** Says why a reply is no answer at all (a banner, a refusal), or null. Such a reply is a failure and is not stored. */
  unusable: (text: string) => string | null;
}

export interface Budget {
  /** The price of what was used, or null when it is not known. */
  costOf(spec: string, usage: Usage): number | null;
}

export interface ModelCallerOptions<R extends CallRole = CallRole> {
  journal: Journal;
  /** Who plays the roles that are asked for. */
  providers: Record<R, Provider>;
  budget: Budget;
  emit: (event: ItemEvent) => void;
  onProgress: () => void;
  signal: AbortSignal;
  clock: Clock;
  /** Told of every answer, also of one that is taken from the journal. */
  onAnswer?: (answer: StoredAnswer) => void;
}

export interface StoredAnswer {
  text: string;
  costUsd: number | null;
  usage: Usage;
  metered: boolean;
}

/** A paid call as one durable step: the stored answer if there is one, else one call, stored before anyone sees it. */
export function createModelCaller<R extends CallRole = CallRole>(
  options: ModelCallerOptions<R>,
): (call: ModelCall<R>) => Promise<string> {
  const { journal, providers, budget, emit, onProgress, signal, clock } = options;

  return async (call) => {
    signal.throwIfAborted();
    const { step, role, system, parts } = call;
    const provider = providers[role];
    const prompt = [system, ...parts.map((part) => part.text)];
    const startedAt = clock.now();

    const { value, replayed } = await journal.step<StoredAnswer>(
      { name: step, inputs: { model: provider.spec, prompt } },
      async ({ id: stepId }) => {
        emit({ type: 'step-started', step, model: provider.spec });
        const reply = await provider.complete({ role, system, parts, stepId, signal, onProgress });
        const costUsd = provider.isModel ? budget.costOf(provider.spec, reply.usage) : 0;
        emit({
          type: 'model-answered',
          step,
          role,
          asked: reply.asked,
          answered: reply.answered,
          promptHash: sha256(prompt.join('\n\n')),
          replyHash: sha256(reply.text),
          usage: reply.usage,
          metered: reply.metered,
          costUsd,
          durationMs: clock.now() - startedAt,
        });
        if (reply.substituted) {
          emit({ type: 'model-substituted', role, asked: reply.asked, answered: reply.answered ?? 'an unnamed model' });
        }
        const reason = call.unusable(reply.text);
        if (reason !== null) {
          throw new AgentosError(
            { code: 'provider-bad-reply', provider: provider.spec, detail: reason },
            { retry: 'transient' },
          );
        }
        return { text: reply.text, costUsd, usage: reply.usage, metered: reply.metered };
      },
    );
    emit({ type: 'step-finished', step, replayed, costUsd: value.costUsd, durationMs: clock.now() - startedAt });
    options.onAnswer?.(value);
    return value.text;
  };
}
