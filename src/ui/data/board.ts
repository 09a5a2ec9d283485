import { isFailure } from '../../core/exit-code.ts';
import { ITEM_STATUSES, type ItemStatus } from '../../core/item.ts';
import { oneLine } from '../../core/lines.ts';
import type { Standing } from '../../core/summary.ts';
import type { BoardItem } from '../api.ts';

/** Every issue in the column where it stands. */
export function boardItems(standings: readonly Standing[]): BoardItem[] {
  return standings.map((standing) => {
    const { id, title, labels, costUsd, lastRun } = standing;
    return { id, title, labels, costUsd, runId: lastRun?.runId ?? null, ...placeOf(standing) };
  });
}

type Place = Pick<BoardItem, 'column' | 'note'>;

export function placeOf(standing: Standing): Place {
  const { state, waitsFor, reason, branch, isUnderWay, lastRun } = standing;
  const why = reason === null ? '' : oneLine(reason);
  switch (state) {
    case 'merged':
      return { column: 'done', note: 'merged' };
    case 'already-done':
      return { column: 'done', note: why || 'already done' };
    case 'dropped':
      return { column: 'done', note: why || 'dropped' };
    case 'branch':
      return { column: isReviewed(standing) ? 'in-review' : 'done', note: branch ?? '' };
    case 'unreadable':
      return { column: 'failed', note: why };
    case 'issue':
    case 'lld':
  }
  const isDesigned = state === 'lld';
  if (waitsFor === 'person') return { column: 'needs-you', note: why.replace(/^the reviewer asks: /, '') };
  if (isUnderWay && lastRun?.status === 'running')
    return { column: isDesigned ? 'implementing' : 'designing', note: lastRun.step ?? '' };
  const column = isDesigned ? 'to-implement' : 'to-design';
  if (isUnderWay) return { column, note: waitsFor === 'quota' ? 'waits for quota' : 'waits for its turn' };
  if (isFailed(lastRun?.status)) return { column: 'failed', note: `${lastRun?.status}${why && `: ${why}`}` };
  if (waitsFor === 'run') return { column, note: 'decided, waits for the next run' };
  return { column, note: why };
}

/** A pull request is open for its branch. */
function isReviewed(standing: Standing): boolean {
  return 'pullRequest' in standing && standing.pullRequest !== null;
}

function isFailed(status: string | undefined): boolean {
  return ITEM_STATUSES.some((known) => known === status) && isFailure(status as ItemStatus);
}
