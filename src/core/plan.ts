import type { Config } from './config.ts';
import type { ErrorRecord } from './errors.ts';
import type { ItemId } from './ids.ts';
import { isAgent, parseWriterSpec } from './model-spec.ts';
import type { PipelineName, WorkflowName } from './paths.ts';
import type { PlannedGroup } from './planned-group.ts';
import { priceOf } from './prices.ts';

/** What is to be done, before anything is: all that `--dry-run` shows, and what a run begins with. */
export interface Plan {
  workflow: PipelineName;
  items: PlannedItem[];
  parallel: number;
  models: Record<string, string>;
  /** The most it could cost, or null when a price is not known. */
  costCeilingUsd: number | null;
  /** Items that can't be worked on at the same time, because they change the same files or build on each other. */
  groups: PlannedGroup[];
  /** What is not part of the plan and should be known. */
  notes: string[];
}

export interface PlannedItem {
  id: ItemId;
  /** The workflow that it begins or goes on with. */
  workflow: WorkflowName;
  title: string;
  /** done: there is nothing to do; dropped: there is to be nothing done; unreadable: it will fail with its error. */
  state: 'new' | 'resumed' | 'done' | 'dropped' | 'unreadable' | 'not-ready';
  /** The step at which a resumed item goes on; null for the others. */
  fromStep: string | null;
  reusedSteps: number;
  error: ErrorRecord | null;
  /** Files that it changes, as far as its design says. */
  files: readonly string[];
  /** Items that it builds on. */
  after: readonly string[];
  /** Paths, files or folders, that no other item works on at the same time. */
  exclusive: readonly string[];
}

export function cycleNote(ids: readonly string[]): string {
  return `${ids.join(', ')} depend on each other; they run in this order.`;
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

/** A round of the built-in agent sends what it has read so far, and writes a file or two. */
const AGENT_PROMPT_TOKENS = 60_000;
const AGENT_OUTPUT_TOKENS = 4_000;

/**
 * Calls at the very most: tests, code and each revision are written in so many rounds, each of so many calls of the
 * agent; then the reviews. What an agent program costs is known only when it asks.
 */
export function implementCostCeilingUsd(config: Config, items: number): number | null {
  const { maxRounds, maxCostUsd, maxCostPerItemUsd } = config.bounds;
  const spec = parseWriterSpec(config.models.implementer);
  const implementer = isAgent(spec) ? null : priceOf(spec.text, config.prices);
  const reviewer = priceOf(config.models.reviewer, config.prices);
  const most = (perItem: number): number =>
    Math.min(
      items * Math.min(perItem, maxCostPerItemUsd ?? Number.POSITIVE_INFINITY),
      maxCostUsd ?? Number.POSITIVE_INFINITY,
    );
  if (implementer === null || reviewer === null) {
    const bounded = most(Number.POSITIVE_INFINITY);
    return items === 0 ? 0 : Number.isFinite(bounded) ? bounded : null;
  }
  const writing = (1 + maxRounds) * maxRounds * config.implement.maxAgentRounds;
  const call = (AGENT_PROMPT_TOKENS * implementer.input + AGENT_OUTPUT_TOKENS * implementer.output) / 1_000_000;
  const review = (AGENT_PROMPT_TOKENS * reviewer.input + OUTPUT_TOKENS_PER_CALL * reviewer.output) / 1_000_000;
  return most(writing * call + maxRounds * 2 * review);
}
