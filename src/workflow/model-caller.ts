import type { Clock } from '../core/clock.ts';
import { AgentosError } from '../core/errors.ts';
import type { ItemEvent } from '../core/events.ts';
import { sha256 } from '../core/hash.ts';
import type { Usage } from '../core/money.ts';
import type { Material } from '../governance/material.ts';
import type { Journal } from '../journal/port.ts';
import type { PromptPart, Provider } from '../provider/port.ts';

type CallRole = 'drafter' | 'reviewer';

export interface ModelCall {
  /** The step's name: `draft`, `review-2`. */
  step: string;
  role: CallRole;
  system: string;
  parts: PromptPart[];
  material: Material;
  /** Says why a reply is no answer at all (a banner, a refusal), or null. Such a reply is a failure and is not stored. */
  unusable: (text: string) => string | null;
}

export interface Budget {
  /** The price of what was used, or null when it is not known. */
  costOf(spec: string, usage: Usage): number | null;
}

export interface ModelCallerOptions {
  journal: Journal;
  providers: Record<CallRole, Provider>;
  budget: Budget;
  emit: (event: ItemEvent) => void;
  onProgress: () => void;
  signal: AbortSignal;
  clock: Clock;
}

interface StoredAnswer {
  text: string;
  costUsd: number | null;
}

/** A paid call as one durable step: the stored answer if there is one, else one call, stored before anyone sees it. */
export function createModelCaller(options: ModelCallerOptions): (call: ModelCall) => Promise<string> {
  const { journal, providers, budget, emit, onProgress, signal, clock } = options;

  return async (call) => {
    signal.throwIfAborted();
    const { step, role, system, parts, material } = call;
    const provider = providers[role];
    const prompt = [system, ...parts.map((part) => part.text)];
    const startedAt = clock.now();

    const { value, replayed } = await journal.step<StoredAnswer>(
      { name: step, inputs: { model: provider.spec, prompt } },
      async ({ id: stepId }) => {
        emit({ type: 'step-started', step, model: provider.spec });
        const reply = await provider.complete({ role, system, parts, material, stepId, signal, onProgress });
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
        return { text: reply.text, costUsd };
      },
    );
    emit({ type: 'step-finished', step, replayed, costUsd: value.costUsd, durationMs: clock.now() - startedAt });
    return value.text;
  };
}
