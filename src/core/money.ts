/** Tokens of one call, or of several added up. */
export interface Usage {
  inputTokens: number;
  outputTokens: number;
  /** Part of the input that was answered from the vendor's prompt cache. */
  cacheReadTokens: number;
  /** Part of the input that was written to it. */
  cacheWriteTokens: number;
}

export const NO_USAGE: Usage = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };

export function addUsage(a: Usage, b: Usage): Usage {
  return {
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    cacheReadTokens: a.cacheReadTokens + b.cacheReadTokens,
    cacheWriteTokens: a.cacheWriteTokens + b.cacheWriteTokens,
  };
}

/** What a run may cost, in all and for each item; null: no limit. */
export interface BudgetLimits {
  maxCostUsd: number | null;
  maxCostPerItemUsd: number | null;
}
