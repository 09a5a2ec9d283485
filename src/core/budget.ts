import { AgentosError } from './errors.ts';
import type { AgentosEvent } from './events.ts';
import { type Price } from './prices.ts';

const CHARS_PER_TOKEN = 4;

export interface BudgetLimits {
  maxCostUsd: number | null;
  maxCostPerItemUsd: number | null;
}

/** What a run and each of its items have spent, by the events. */
export interface Budget {
  /** Throws `over-budget` when the prompt alone would go past a limit: nothing is sent then. */
  reserve: (item: string, spec: string, promptChars: number) => void;
  add(event: AgentosEvent): void;
}

export function createBudget(limits: BudgetLimits, priceOf: (spec: string) => Price | null): Budget {
  let runUsd = 0;
  const itemUsd = new Map<string, number>();

  const guard = (scope: 'run' | 'item', spentUsd: number, limitUsd: number | null, nextUsd: number): void => {
    if (limitUsd !== null && spentUsd + nextUsd > limitUsd) {
      throw new AgentosError({ code: 'over-budget', spentUsd, limitUsd, scope });
    }
  };
  return {
    reserve(item, spec, promptChars) {
      const price = priceOf(spec);
      const nextUsd = price === null ? 0 : (promptChars / CHARS_PER_TOKEN / 1_000_000) * price.input;
      guard('item', itemUsd.get(item) ?? 0, limits.maxCostPerItemUsd, nextUsd);
      guard('run', runUsd, limits.maxCostUsd, nextUsd);
    },
    add(event) {
      if (event.type === 'model-answered') runUsd += event.costUsd ?? 0;
      // A stored answer counts for its item, though nobody pays for it again.
      const paid = event.type === 'model-answered' || (event.type === 'step-finished' && event.replayed);
      if (paid) itemUsd.set(event.item, (itemUsd.get(event.item) ?? 0) + (event.costUsd ?? 0));
    },
  };
}
