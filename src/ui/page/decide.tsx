import { signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import type { DecideRequest, InboxItem } from '../api.ts';
import { Words } from './bits.tsx';
import { act } from './source.ts';
import { held, notify, overview } from './store.ts';

type Kind = DecideRequest['kind'];

const asked = signal<{ kind: Kind; items: readonly InboxItem[]; onSent: () => void } | null>(null);

const WORDS: Record<Kind, { title: string; button: string; says: string }> = {
  approve: { title: 'Approve', button: 'Approve', says: 'It is good as it stands.' },
  revise: { title: 'Revise', button: 'Send back', says: 'What is to be changed? The rounds start again with it.' },
  drop: { title: 'Drop', button: 'Drop', says: 'It will not be done.' },
};

/** Whether a decision of this kind can be taken on an item; why not, else null. */
export function obstacleTo(kind: Kind, { obstacle, canRevise }: InboxItem): string | null {
  if (kind === 'approve' && obstacle !== null) return `It can’t be approved: ${obstacle}`;
  return kind === 'revise' && !canRevise ? 'The recorded tour can’t make changes: approve it, or drop it.' : null;
}

/** Asks for the reason, and for the text of a revision. */
export function askDecision(kind: Kind, items: readonly InboxItem[], onSent = (): void => undefined): void {
  const fit = items.filter((item) => obstacleTo(kind, item) === null);
  const [first] = items;
  if (first === undefined) return;
  if (fit.length === 0) notify(obstacleTo(kind, first) ?? '', 'bad');
  else asked.value = { kind, items: fit, onSent };
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
  const dialog = useRef<HTMLDialogElement>(null);
  const now = asked.value;
  useEffect(() => {
    if (now !== null && dialog.current?.open === false) dialog.current.showModal();
  }, [now]);
  if (now === null) return null;
  const { kind, items, onSent } = now;
  const { title, button, says } = WORDS[kind];
  const needsReason = kind === 'approve' && items.some(({ questions }) => questions.length > 0);
  const submit = (event: SubmitEvent): void => {
    const form = new FormData(event.currentTarget as HTMLFormElement);
    const text = (name: string): string => {
      const value = form.get(name);
      return typeof value === 'string' ? value : '';
    };
    asked.value = null;
    void decideAll(kind, items, text('reason'), text('change')).then(onSent);
  };
  const sendByKey = (event: KeyboardEvent): void => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey))
      (event.currentTarget as HTMLFormElement).requestSubmit();
  };
  const names = items.map(({ id }) => id).join(', ');
  return (
    <dialog ref={dialog} class="decide" aria-label={`${title} ${names}`} onClose={() => (asked.value = null)}>
      <form method="dialog" onSubmit={submit} onKeyDown={sendByKey}>
        <h2>
          {title} {names}
        </h2>
        {kind !== 'revise' && <p class="muted">{says}</p>}
        {kind === 'revise' && (
          <label>
            {says}
            <textarea name="change" rows={5} required autofocus maxLength={20_000} />
          </label>
        )}
        {needsReason && items.length === 1 && (
          <ul class="questions">
            {items[0]?.questions.map((question) => (
              <li key={question}>
                <Words text={question} />
              </li>
            ))}
          </ul>
        )}
        <label>
          {needsReason ? 'Reason: it answers the questions, so that it is needed' : 'Reason (optional)'}
          <textarea name="reason" rows={3} required={needsReason} autofocus={kind !== 'revise'} maxLength={20_000} />
        </label>
        <p class="muted">
          Recorded in the lineage as {overview.value?.person}, in 10 seconds: until then it can be undone.
        </p>
        <div class="dialog-end">
          <button type="button" class="button quiet" onClick={() => dialog.current?.close()}>
            Cancel
          </button>
          <button type="submit" class={`button primary tone-${kind === 'drop' ? 'bad' : 'good'}`}>
            {button} <kbd>Ctrl ↵</kbd>
          </button>
        </div>
      </form>
    </dialog>
  );
}
