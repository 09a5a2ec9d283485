import type { Held } from '../api.ts';
import { Kbd } from './bits.tsx';
import { nowMs } from './clock.ts';
import { useKeys } from './keys.ts';
import { act } from './source.ts';
import { held, notify } from './store.ts';

const WORDS = { approve: 'Approve', revise: 'Revise', drop: 'Drop' } as const;

async function undo({ key, id }: Held): Promise<void> {
  const { undone } = await act('undo', { key }).catch(() => ({ undone: false }));
  notify(
    undone ? `The decision on ${id} is undone.` : `Too late: the decision on ${id} is recorded.`,
    undone ? 'good' : 'bad',
  );
}

/** Decisions that are not recorded yet, each with the seconds that are left. */
export function HeldDecisions() {
  const list = held.value;
  const last = list.at(-1);
  useKeys({ u: () => last !== undefined && void undo(last) });
  if (list.length === 0) return null;
  return (
    <div class="held">
      {list.slice(-4).map((decision) => {
        const seconds = Math.max(0, Math.ceil((decision.dueAtMs - nowMs.value) / 1_000));
        return (
          <p key={decision.key} class="toast">
            <span>
              {WORDS[decision.kind]} <strong>{decision.id}</strong>, as {decision.by}: recorded in {seconds} s
            </span>
            <button type="button" class="button small" onClick={() => void undo(decision)}>
              Undo {decision === last && <Kbd>u</Kbd>}
            </button>
          </p>
        );
      })}
      {list.length > 4 && <p class="toast">and {list.length - 4} more</p>}
    </div>
  );
}
