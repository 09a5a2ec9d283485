import { randomUUID } from 'node:crypto';
import { AgentosError, toErrorRecord } from '../../core/errors.ts';
import { type ItemId, parseItemId } from '../../core/ids.ts';
import { wordingOf } from '../../core/wording.ts';
import { decide, requireDecidable, type Word } from '../../run/decide.ts';
import type { Project } from '../../run/project.ts';
import { waitingItem } from '../../run/waiting-item.ts';
import type { DecideRequest, Held, Settled } from '../api.ts';

const UNDO_MS = 10_000;

/**
 * Decisions that can still be undone. A decision in the lineage stays there, so that nothing is recorded before its time is up. It
 * is held here and not in the page: closing the page does not lose it, and when the server is told to end, it records at
 * once what it holds. Until it is recorded the item counts as waiting, here and for every run.
 */
export interface HeldDecisions {
  /** Refuses at once what could not be recorded. */
  hold(request: DecideRequest, by: string): Promise<Held>;
  /** False: it is recorded already, or unknown. */
  undo(key: string): boolean;
  list(): Held[];
  /** Records all of them now. */
  flush(): Promise<void>;
}

export interface HeldOptions {
  /** Around each decision that is recorded; absent: it is recorded here alone. */
  decideWith?: <T>(id: ItemId, decide: () => Promise<T>) => Promise<T>;
  onHeld: (held: Held[]) => void;
  onSettled: (settled: Settled) => void;
}

export function createHeldDecisions(
  project: Project,
  { decideWith = (_, decide) => decide(), onHeld, onSettled }: HeldOptions,
): HeldDecisions {
  const held = new Map<string, { decision: Held; timer: NodeJS.Timeout }>();
  const list = (): Held[] => [...held.values()].map(({ decision }) => decision);

  const record = async (decision: Held): Promise<void> => {
    const { key } = decision;
    const id = parseItemId(decision.id);
    held.delete(key);
    try {
      const { lineage } = await decideWith(id, () => decide(project, id, wordOf(decision)));
      onSettled({ key, id, recorded: lineage, problem: null });
    } catch (error) {
      const { message, hint } = wordingOf(toErrorRecord(error).problem);
      onSettled({ key, id, recorded: null, problem: [message, hint].filter(Boolean).join(' ') });
    }
    onHeld(list());
  };

  return {
    async hold(request, by) {
      const id = parseItemId(request.id);
      const waiting = waitingItem(project.paths, id);
      if (waiting !== null && waiting.workflow !== request.workflow)
        throw new AgentosError({ code: 'not-waiting', id, last: null });
      await requireDecidable(project, id, wordOf(request));
      // One that replaces another before its time takes its place.
      for (const { decision, timer } of held.values()) {
        if (decision.id !== request.id) continue;
        clearTimeout(timer);
        held.delete(decision.key);
      }
      const decision: Held = { ...request, key: randomUUID(), dueAtMs: Date.now() + UNDO_MS, by };
      held.set(decision.key, { decision, timer: setTimeout(() => void record(decision), UNDO_MS) });
      onHeld(list());
      return decision;
    },
    undo(key) {
      const found = held.get(key);
      clearTimeout(found?.timer);
      held.delete(key);
      if (found !== undefined) onHeld(list());
      return found !== undefined;
    },
    list,
    async flush() {
      for (const { decision, timer } of Array.from(held.values())) {
        clearTimeout(timer);
        await record(decision);
      }
    },
  };
}

function wordOf({ kind, reason, change }: DecideRequest): Word {
  const words = (text: string): string | null => text.trim() || null;
  return { kind, reason: words(reason), change: kind === 'revise' ? words(change) : null };
}
