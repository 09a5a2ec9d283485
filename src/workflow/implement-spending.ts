import { addUsage, type Usage } from '../core/money.ts';
import type { Spending } from '../documents/implementation/report.ts';

interface Used {
  usage: Usage;
  metered: boolean;
  costUsd: number | null;
}

/** What an item has cost over all its attempts and runs: stored answers were paid for too. */
export interface ItemSpending {
  add(role: string, model: string, used: Used): void;
  all(): Spending[];
}

export function createSpending(): ItemSpending {
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
