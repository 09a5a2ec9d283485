import { type Decision, recordDecision } from '../documents/decision.ts';
import type { Ledger } from '../documents/ledger.ts';
import type { ReviewEnding } from './reviewing.ts';

/** What a loop can't decide by itself. */
export interface OpenPoint {
  reason: string;
  /** What is decided on: the draft, or the diff. */
  text: string;
  /** The review that led here; empty where there was none. */
  review: string;
  /** Why it can't be approved as it stands; null: it can. */
  obstacle: string | null;
  /** What the text and its reviewer ask and nobody has answered: an approval has to. */
  openQuestions: string[];
}

/** Null while nobody has decided. */
export type AskPerson = (point: OpenPoint) => Promise<Decision | null>;

export type LoopEnding = ReviewEnding | { verdict: 'DROPPED'; decision: Decision };

/** Where a loop goes from a point that it can't decide: to its end, or on with what a person asks for. */
export interface Discussed {
  /** Null: the draft is to be revised by the decision. */
  ending: LoopEnding | null;
  /** With the decision in it. */
  ledger: Ledger;
  decision: Decision | null;
}

/** An item waits until a person has decided, and goes on waiting after an approval of what can't be approved. */
export async function discuss(
  point: OpenPoint,
  { ledger, round, ask }: { ledger: Ledger; round: number; ask: AskPerson | undefined },
): Promise<Discussed> {
  const decision = (await ask?.(point)) ?? null;
  const waiting: Discussed = { ending: { verdict: 'DISCUSS', reason: point.reason }, ledger, decision: null };
  if (decision === null) return waiting;
  const decided = { ledger: recordDecision(ledger, decision, round), decision };
  switch (decision.kind) {
    case 'approve':
      return point.obstacle === null ? { ...decided, ending: { verdict: 'APPROVED' } } : waiting;
    case 'drop':
      return { ...decided, ending: { verdict: 'DROPPED', decision } };
    case 'revise':
      return { ...decided, ending: null };
  }
}
