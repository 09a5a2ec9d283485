import { AgentosError } from '../core/errors.ts';
import { changedOutside, type OutsideView } from '../workspace/outside.ts';

export interface OutsideWatch {
  /** Rejects with `changed-outside` if something outside of the worktree was changed meanwhile, however the work ended. */
  during<T>(work: () => Promise<T>): Promise<T>;
}

/** A look costs a tenth of a second on a large checkout; what was seen just now is still so. */
const FRESH_MS = 1_000;

export function createOutsideWatch(look: () => Promise<OutsideView>, worktree: string): OutsideWatch {
  let last: { view: OutsideView; atMs: number } | null = null;
  const seen = async (): Promise<OutsideView> => {
    const view = await look();
    last = { view, atMs: performance.now() };
    return view;
  };
  return {
    async during(work) {
      const before = last !== null && performance.now() - last.atMs < FRESH_MS ? last.view : await seen();
      const [ended] = await Promise.allSettled([work()]);
      const files = changedOutside(before, await seen());
      // Named even if the work failed as well: it is the worse of the two.
      if (files.length > 0) throw new AgentosError({ code: 'changed-outside', files, worktree });
      if (ended.status === 'rejected') throw ended.reason;
      return ended.value;
    },
  };
}
