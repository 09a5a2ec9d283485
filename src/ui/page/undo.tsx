import type { Held } from '../api.ts';
import { Kbd } from './bits.tsx';
import { nowMs } from './clock.ts';
import { useKeys } from './keys.ts';
import { act } from './source.ts';
import { held, notify } from './store.ts';

const WORDS = { approve: 'Approve', revise: 'Revise', drop: 'Drop' } as const;
const UNDO_SECONDS = 10;

/** What was decided at once, with the same words, is undone at once. */
function groupsOf(list: readonly Held[]): Held[][] {
  const groups = new Map<string, Held[]>();
  for (const decision of list) {
    const key = JSON.stringify([decision.kind, decision.reason, decision.change]);
    groups.set(key, [...(groups.get(key) ?? []), decision]);
  }
  return [...groups.values()];
}

async function undo(group: readonly Held[]): Promise<void> {
  const answers = await Promise.all(
    group.map(({ key }) =>
      act('undo', { key }).then(
        ({ undone }) => undone,
        () => false,
      ),
    ),
  );
  const late = group.filter((_, index) => answers[index] !== true).map(({ id }) => id);
  const ids = group.map(({ id }) => id).join(', ');
  if (late.length === 0) notify(`The decision on ${ids} is undone.`, 'good');
  else notify(`Too late: the decision on ${late.join(', ')} is recorded.`, 'bad');
}

/** Decisions that are not recorded yet, each with the seconds that are left. */
export function HeldDecisions() {
  const groups = groupsOf(held.value);
  const last = groups.at(-1);
  useKeys({ u: () => last !== undefined && void undo(last) });
  if (groups.length === 0) return null;
  return (
    <div class="held">
      {groups.map((group) => {
        const [{ key, kind, by, dueAtMs } = { key: '', kind: 'drop' as const, by: '', dueAtMs: 0 }] = group;
        const seconds = Math.min(UNDO_SECONDS, Math.max(0, Math.ceil((dueAtMs - nowMs.value) / 1_000)));
        return (
          <p key={key} class="toast">
            <span>
              {WORDS[kind]} <strong>{group.map(({ id }) => id).join(', ')}</strong>, as {by.replace(/ <.*>$/, '')}:
              recorded in {seconds} s
            </span>
            <button type="button" class="button small" onClick={() => void undo(group)}>
              Undo {group === last && <Kbd>u</Kbd>}
            </button>
          </p>
        );
      })}
    </div>
  );
}
