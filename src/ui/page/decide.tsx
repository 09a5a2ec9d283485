import { signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import type { DecideRequest, Held, InboxItem } from '../api.ts';
import { Button, Dialog, textIn, Words } from './bits.tsx';
import { useKeys } from './navigation.ts';
import { act, canAct, held, notify, nowMs, overview } from './store.ts';

export type Kind = DecideRequest['kind'];

const asked = signal<{ kind: Kind; items: readonly InboxItem[]; onSent: () => void } | null>(null);

const WORDS: Record<Kind, { title: string; button: string; says: string }> = {
  approve: { title: 'Approve', button: 'Approve', says: 'It is good as it stands.' },
  revise: { title: 'Revise', button: 'Send back', says: 'What has to change? The rounds start again with it.' },
  drop: { title: 'Drop', button: 'Drop', says: 'It will not be done.' },
};

/** Why this decision can't be taken on an item, or null. */
function obstacleTo(kind: Kind, { obstacle, canRevise }: InboxItem): string | null {
  if (kind === 'approve' && obstacle !== null) return `It can’t be approved: ${obstacle}`;
  return kind === 'revise' && !canRevise ? 'The recorded tour can’t make changes: approve it, or drop it.' : null;
}

/** Opens the dialog for the reason or the requested change. */
export function askDecision(kind: Kind, items: readonly InboxItem[], onSent = (): void => undefined): void {
  const fit = items.filter((item) => obstacleTo(kind, item) === null);
  const [first] = items;
  if (first === undefined || !canAct()) return;
  if (fit.length === 0) notify(obstacleTo(kind, first) ?? '', 'bad');
  else asked.value = { kind, items: fit, onSent };
}

/** The question about an item; `children` come last. */
export function Asked({
  item,
  heading,
  children,
}: {
  item: InboxItem;
  heading: ComponentChildren;
  children?: ComponentChildren;
}) {
  const { asked: words, questions, obstacle, decided } = item;
  return (
    <div class="asked">
      {heading}
      {questions.length > 0 ? (
        <Questions of={item} />
      ) : (
        <p>
          <Words text={words} />
        </p>
      )}
      {obstacle !== null && <p class="tone-bad">It can’t be approved as it stands: {obstacle}</p>}
      {decided !== null && (
        <p class="tone-good">There is a decision already, which the next run uses; a new one replaces it.</p>
      )}
      {children}
    </div>
  );
}

function Questions({ of, is = '' }: { of: InboxItem; is?: string }) {
  return (
    <ul class={is}>
      {of.questions.map((question) => (
        <li key={question}>
          <Words text={question} />
        </li>
      ))}
    </ul>
  );
}

const TONES: Record<Kind, string> = { approve: 'primary tone-good', revise: '', drop: 'tone-bad' };

export function DecideButtons({ items, onDecide }: { items: readonly InboxItem[]; onDecide: (kind: Kind) => void }) {
  const [first] = items;
  if (!canAct()) return null;
  return (
    <div class="buttons" role="group" aria-label="Decide">
      {(['approve', 'revise', 'drop'] as const).map((kind) => {
        const why = first !== undefined && items.length === 1 ? obstacleTo(kind, first) : null;
        return (
          <Button
            key={kind}
            is={TONES[kind]}
            kbd={kind[0] ?? ''}
            disabled={why !== null}
            title={why ?? undefined}
            onClick={() => onDecide(kind)}
          >
            {WORDS[kind].title}
            {items.length > 1 && ` ${items.length}`}
          </Button>
        );
      })}
    </div>
  );
}

async function decideAll(kind: Kind, items: readonly InboxItem[], reason: string, change: string): Promise<void> {
  for (const { id, workflow } of items) {
    try {
      const decision = await act('decide', { id, workflow, kind, reason, change });
      if (!held.value.some(({ key }) => key === decision.key)) held.value = [...held.value, decision];
    } catch (error) {
      notify(error instanceof Error ? error.message : String(error), 'bad');
    }
  }
}

export function DecideDialog() {
  if (asked.value === null) return null;
  const { kind, items, onSent } = asked.value;
  const { title, button, says } = WORDS[kind];
  const [only] = items.length === 1 ? items : [];
  const needsReason = kind === 'approve' && items.some(({ questions }) => questions.length > 0);
  const close = (): void => void (asked.value = null);
  const submit = (event: SubmitEvent): void => {
    const form = new FormData(event.currentTarget as HTMLFormElement);
    close();
    void decideAll(kind, items, textIn(form, 'reason'), textIn(form, 'change')).then(onSent);
  };
  const sendByKey = (event: KeyboardEvent): void => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey))
      (event.currentTarget as HTMLFormElement).requestSubmit();
  };
  const names = items.map(({ id }) => id).join(', ');
  return (
    <Dialog is="decide" label={`${title} ${names}`} onClose={close}>
      <form method="dialog" onSubmit={submit} onKeyDown={sendByKey}>
        <h2>
          {title} {names}
        </h2>
        {kind === 'revise' ? (
          <label>
            {says}
            <textarea name="change" rows={5} required autofocus maxLength={20_000} />
          </label>
        ) : (
          <p class="muted">{says}</p>
        )}
        {needsReason && only && <Questions of={only} is="questions" />}
        <label>
          {needsReason ? 'Reason (required: it answers the questions)' : 'Reason (optional)'}
          <textarea name="reason" rows={3} required={needsReason} autofocus={kind !== 'revise'} maxLength={20_000} />
        </label>
        <p class="muted">
          Recorded in the lineage as {overview.value?.person} in 10 seconds; until then it can be undone.
        </p>
        <div class="dialog-end">
          <Button is="quiet" onClick={close}>
            Cancel
          </Button>
          <button type="submit" class={`button primary tone-${kind === 'drop' ? 'bad' : 'good'}`}>
            {button} <kbd>Ctrl ↵</kbd>
          </button>
        </div>
      </form>
    </Dialog>
  );
}

const UNDO_SECONDS = 10;

/** Decisions that were taken together are undone together. */
function groupsOf(list: readonly Held[]): Held[][] {
  return [...Map.groupBy(list, ({ kind, reason, change }) => JSON.stringify([kind, reason, change])).values()];
}

async function undo(group: readonly Held[]): Promise<void> {
  const undone = await Promise.all(group.map(({ key }) => act('undo', { key }).catch(() => ({ undone: false }))));
  const late = group.filter((_, index) => undone[index]?.undone !== true).map(({ id }) => id);
  if (late.length > 0) notify(`Too late: the decision on ${late.join(', ')} is recorded.`, 'bad');
  else notify(`The decision on ${group.map(({ id }) => id).join(', ')} is undone.`, 'good');
}

/** Decisions that are not recorded yet, each with the remaining seconds. */
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
              {WORDS[kind].title} <strong>{group.map(({ id }) => id).join(', ')}</strong>, as {by.replace(/ <.*>$/, '')}
              : recorded in {seconds} s
            </span>
            <Button is="small" kbd={group === last && 'u'} onClick={() => undo(group)}>
              Undo
            </Button>
          </p>
        );
      })}
    </div>
  );
}
