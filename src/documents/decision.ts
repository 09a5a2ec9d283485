import { oneLine } from '../core/lines.ts';
import { type Ledger, openFindings, raise, withdraw } from './ledger.ts';

export type DecisionKind = 'approve' | 'revise' | 'drop';

/** A person's decision on an item in DISCUSS. Plain data, stored as JSON. */
export interface Decision {
  kind: DecisionKind;
  by: string;
  /** ISO. */
  at: string;
  reason: string | null;
  /** What to change; null unless the kind is `revise`. */
  change: string | null;
  /** The decision in the form of a review, for the lineage and for whoever makes the change. */
  document: string;
  /** Earlier decisions on the same question that no run has used; oldest first. */
  replaced?: string[];
}

export interface DecisionFacts extends Omit<Decision, 'document' | 'replaced'> {
  id: string;
  title: string;
  /** Why a person was asked. */
  asked: string;
}

const WORDS: Record<DecisionKind, { done: string; box: string; meaning: string }> = {
  approve: { done: 'approved', box: 'APPROVED', meaning: 'As it stands, by a person' },
  revise: { done: 'sent back', box: 'REVISE', meaning: 'Make the change that a person asks for' },
  drop: { done: 'dropped', box: 'DROPPED', meaning: 'Not to be done' },
};

export function decisionOf({ id, title, asked, ...facts }: DecisionFacts): Decision {
  const { kind, by, at, reason, change } = facts;
  const boxes = Object.entries(WORDS).map(
    ([one, { box, meaning }]) => `[${one === kind ? 'x' : ' '}] **${box}** - ${meaning}`,
  );
  // Indented, a change is part of its finding.
  const asks = ['## Tier 1: BLOCKING Issues', '- [ ] **A person asks for this change:**', ''];
  const document = [
    `# Decision: ${id} - ${oneLine(title)}`,
    '',
    '## Identity Confirmation',
    `${oneLine(by)}, a person, on ${at}.`,
    '',
    '## Why a person was asked',
    quoted(asked),
    '',
    ...(reason === null ? [] : ['## Review Summary', quoted(reason), '']),
    ...(change === null ? [] : [...asks, quoted(change).replace(/^/gm, '  '), '']),
    '## Verdict',
    ...boxes,
    '',
  ].join('\n');
  return { ...facts, document };
}

/** Whether a verdict in the lineage is a person's decision. */
export function isDecision(document: string): boolean {
  return document.startsWith('# Decision: ') && document.includes('\n## Why a person was asked\n');
}

/** "approved by Ada <ada@example.org>: the risk is known" */
export function describeDecision({ kind, by, reason, change }: Decision): string {
  const why = reason ?? change;
  return `${WORDS[kind].done} by ${by}${why === null ? '' : `: ${oneLine(why)}`}`;
}

/** An approval withdraws all open findings; a requested change adds a finding and settles none. */
export function recordDecision(ledger: Ledger, decision: Decision, round: number): Ledger {
  const { kind, change } = decision;
  if (kind === 'approve') {
    const because = describeDecision(decision);
    return openFindings(ledger).reduce((left, finding) => withdraw(left, finding.id, because), ledger);
  }
  return change === null ? ledger : raise(ledger, { tier: 1, area: 'Asked for by a person', text: change }, round);
}

/** Quoted text can't be taken for a verdict, a heading or a finding of the document itself. */
function quoted(text: string): string {
  return (
    text
      .trim()
      .split(/\r\n?|\n/)
      // An open fence would swallow the rest of the document.
      .map((line) => `> ${line.replace(/^(\s*)(?=`{3}|~{3})/, '$1\\')}`.trimEnd())
      .join('\n')
  );
}
