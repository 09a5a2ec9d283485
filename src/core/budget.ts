/** What a run may cost, in all and for each item; null: no limit. */
export interface BudgetLimits {
  maxCostUsd: number | null;
  maxCostPerItemUsd: number | null;
}
