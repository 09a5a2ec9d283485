import type { Config } from './config.ts';
import type { ErrorRecord } from './errors.ts';
import type { ItemId } from './ids.ts';
import type { WorkflowName } from './paths.ts';
import { priceOf } from './prices.ts';

/** What is to be done, before anything is: all that `--dry-run` shows, and what a run begins with. */
export interface Plan {
  workflow: WorkflowName;
  items: PlannedItem[];
  parallel: number;
  models: Record<string, string>;
  /** The most it could cost, or null when a price is not known. */
  costCeilingUsd: number | null;
}

export interface PlannedItem {
  id: ItemId;
  title: string;
  /** done: there is nothing to do; unreadable: it will fail with its error. */
  state: 'new' | 'resumed' | 'done' | 'unreadable';
  /** The step at which a resumed item goes on; null for the others. */
  fromStep: string | null;
  reusedSteps: number;
  error: ErrorRecord | null;
}

const CHARS_PER_TOKEN = 4;
/** A long design; most are half of it. */
const OUTPUT_TOKENS_PER_CALL = 16_000;
/** Template, instructions and a document or two beside the issue and the repository. */
const DOCUMENT_TOKENS = 2 * OUTPUT_TOKENS_PER_CALL;

/** Calls at the very most: a draft, then each round two repairs, two reviews and two revisions. */
export function lldCostCeilingUsd(config: Config, issueChars: readonly number[]): number | null {
  const drafter = priceOf(config.models.drafter, config.prices);
  const reviewer = priceOf(config.models.reviewer, config.prices);
  const { maxRounds, maxCostUsd, maxCostPerItemUsd } = config.bounds;
  if (drafter === null || reviewer === null) return maxCostUsd;
  const perItem = issueChars.map((chars) => {
    const promptTokens = chars / CHARS_PER_TOKEN + config.context.maxTokens + DOCUMENT_TOKENS;
    const call = (price: { input: number; output: number }): number =>
      (promptTokens * price.input + OUTPUT_TOKENS_PER_CALL * price.output) / 1_000_000;
    const ceiling = (1 + maxRounds * 4) * call(drafter) + maxRounds * 2 * call(reviewer);
    return Math.min(ceiling, maxCostPerItemUsd ?? Number.POSITIVE_INFINITY);
  });
  const total = perItem.reduce((sum, cost) => sum + cost, 0);
  return Math.min(total, maxCostUsd ?? Number.POSITIVE_INFINITY);
}
