import { isFailure } from '../../core/exit-code.ts';
import { ITEM_STATUSES, type ItemStatus } from '../../core/item.ts';
import { oneLine } from '../../core/lines.ts';
import type { Standing } from '../../core/summary.ts';
import type { BoardItem } from '../api.ts';

/** Every issue in the column where it stands. */
export function boardItems(standings: readonly Standing[], isOpened: (id: string) => boolean): BoardItem[] {
  return standings.map((standing) => {
    const { id, title, labels, costUsd, lastRun, state } = standing;
    const isReviewed = state === 'branch' && isOpened(id);
    return { id, title, labels, costUsd, runId: lastRun?.runId ?? null, ...placeOf(standing, isReviewed) };
  });
}

type Place = Pick<BoardItem, 'column' | 'note'>;

/** `isReviewed`: there is a pull request for its branch. */
export function placeOf(standing: Standing, isReviewed: boolean): Place {
  const { state, waitsFor, reason, branch, isUnderWay, lastRun } = standing;
  const why = reason === null ? '' : oneLine(reason);
  if (waitsFor === 'person') return { column: 'needs-you', note: why.replace(/^the reviewer asks: /, '') };
  switch (state) {
    case 'merged':
      return { column: 'done', note: 'merged' };
    case 'already-done':
      return { column: 'done', note: why || 'already done' };
    case 'dropped':
      return { column: 'done', note: why || 'dropped' };
    case 'branch':
      return { column: isReviewed ? 'in-review' : 'done', note: branch ?? '' };
    case 'unreadable':
      return { column: 'failed', note: why };
    case 'issue':
    case 'lld':
  }
  const isDesigned = state === 'lld';
  if (isUnderWay && lastRun?.status === 'running')
    return { column: isDesigned ? 'implementing' : 'designing', note: lastRun.step ?? '' };
  const column = isDesigned ? 'to-implement' : 'to-design';
  if (isUnderWay) return { column, note: waitsFor === 'quota' ? 'waits for quota' : 'waits for its turn' };
  if (isFailed(lastRun?.status)) return { column: 'failed', note: `${lastRun?.status}${why && `: ${why}`}` };
  if (waitsFor === 'run') return { column, note: 'decided, waits for the next run' };
  return { column, note: why };
}

function isFailed(status: string | undefined): boolean {
  return ITEM_STATUSES.some((known) => known === status) && isFailure(status as ItemStatus);
}
