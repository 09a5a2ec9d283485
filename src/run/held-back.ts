import { AgentosError, type ErrorRecord, toErrorRecord } from '../core/errors.ts';
import type { ItemId } from '../core/ids.ts';
import type { Solved } from '../core/plan.ts';
import type { Issue } from '../source/port.ts';

type HeldBack = { state: 'already-done'; solved: Solved } | { state: 'not-ready'; error: ErrorRecord };

/** Why nothing is to be paid for an issue now, by what its service knows of it; null: nothing speaks against it. */
export function heldBack({ id, facts }: Pick<Issue, 'id' | 'facts'>): HeldBack | null {
  if (facts === undefined) return null;
  const [request] = facts.answeredBy;
  if (request !== undefined) {
    const reason = `pull request #${request.number} for it is ${request.state}: ${request.url}`;
    return { state: 'already-done', solved: { reason, outputs: [request.url] } };
  }
  return facts.blockedBy.length === 0 ? null : blocked(id, facts.blockedBy, facts.blockedBy.length);
}

export function blocked(id: ItemId, by: string[], count: number): HeldBack {
  return { state: 'not-ready', error: toErrorRecord(new AgentosError({ code: 'issue-blocked', id, by, count })) };
}
