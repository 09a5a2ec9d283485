import { signal } from '@preact/signals';
import { useState } from 'preact/hooks';
import type { BatchWish, PlanShown } from '../api.ts';
import { Button, CopyLine, Dialog, textIn } from './bits.tsx';
import { money, plural } from './format.ts';
import { go } from './navigation.ts';
import { act } from './store.ts';

const isOpen = signal(false);

export const startDialog = { open: (): void => void (isOpen.value = true) };

const WORKFLOWS: [BatchWish['workflow'], string][] = [
  ['lld', 'Designs: issues become LLDs'],
  ['implement', 'Implementations: approved LLDs become branches'],
  ['run', 'The whole way: design, then implementation'],
  ['issue', 'Issues: briefs become issues'],
];

export function StartDialog() {
  return isOpen.value ? <Start onClose={() => (isOpen.value = false)} /> : null;
}

/** Chooses a batch, shows its plan, and starts it only then. */
function Start({ onClose }: { onClose: () => void }) {
  const [plan, setPlan] = useState<{ wish: BatchWish; plan: PlanShown } | null>(null);
  const [busy, setBusy] = useState<string | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const attempt = async (what: string, work: () => Promise<void>): Promise<void> => {
    setBusy(what);
    setProblem(null);
    try {
      await work();
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
    }
    setBusy(null);
  };
  const showPlan = (event: SubmitEvent): void => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    const wish = wishOf(form);
    void attempt('Planning …', async () => setPlan({ wish, plan: await act('plan', wish) }));
  };
  const start = (): void => {
    if (plan === null) return;
    void attempt('Starting …', async () => {
      const { runId } = await act('start', plan.wish);
      onClose();
      go('run', runId);
    });
  };
  return (
    <Dialog is="start-dialog" label="Start a batch" onClose={onClose}>
      <h2>Start a batch</h2>
      <form onSubmit={showPlan} onInput={() => setPlan(null)}>
        <label>
          What
          <select name="workflow">
            {WORKFLOWS.map(([name, text]) => (
              <option key={name} value={name}>
                {text}
              </option>
            ))}
          </select>
        </label>
        <label>
          Which
          <input name="ids" placeholder="every pending item, or ids: 42 57" autocomplete="off" />
        </label>
        <div class="fields">
          <label>
            At a time
            <input name="parallel" type="number" min={1} max={10} value={3} />
          </label>
          <label>
            Most cost in $
            <input name="maxCost" type="number" min={0.01} step={0.01} placeholder="no limit" />
          </label>
        </div>
        <label class="check">
          <input name="offline" type="checkbox" /> Offline: the recorded tour, no model
        </label>
        <div class="dialog-end">
          <Button is="quiet" onClick={onClose}>
            Cancel
          </Button>
          <button type="submit" class={plan === null ? 'button primary' : 'button'} disabled={busy !== null}>
            {busy === 'Planning …' ? busy : 'Show the plan'}
          </button>
        </div>
      </form>
      {problem !== null && (
        <p class="banner tone-bad" role="alert">
          {problem}
        </p>
      )}
      {plan !== null && <PlanView plan={plan.plan} busy={busy} onStart={start} />}
    </Dialog>
  );
}

function wishOf(form: FormData): BatchWish {
  const text = (name: string): string => textIn(form, name).trim();
  return {
    workflow: WORKFLOWS.find(([name]) => name === text('workflow'))?.[0] ?? 'lld',
    ids: text('ids')
      .split(/[\s,]+/)
      .map((id) => id.replace(/^#/, ''))
      .filter((id) => id !== ''),
    parallel: Number(text('parallel')) || 1,
    maxCostUsd: Number(text('maxCost')) || null,
    offline: form.get('offline') !== null,
  };
}

function PlanView({ plan, busy, onStart }: { plan: PlanShown; busy: string | null; onStart: () => void }) {
  const { items, estimateUsd, costCeilingUsd, notes, models, command } = plan;
  const todo = items.filter(({ state }) => state === 'new' || state === 'resumed');
  return (
    <section class="plan" aria-label="Plan">
      <p>
        <strong>{plural(todo.length, 'item')}</strong>,{' '}
        {estimateUsd === null ? 'cost not known' : `probably ${money(estimateUsd)}`}
        {costCeilingUsd !== null && costCeilingUsd > 0 && `, at most ${money(costCeilingUsd)}`}.{' '}
        <span class="muted">
          {Object.entries(models)
            .map(([role, model]) => `${role} ${model}`)
            .join(', ')}
        </span>
      </p>
      <ul class="plan-items">
        {items.slice(0, 200).map(({ id, title, state, fromStep }) => (
          <li key={id}>
            <b>{id}</b> <span>{title}</span> <small>{state === 'resumed' ? `resumed from ${fromStep}` : state}</small>
          </li>
        ))}
        {items.length > 200 && <li>and {items.length - 200} more</li>}
      </ul>
      {notes.map((note) => (
        <p key={note} class="muted">
          {note}
        </p>
      ))}
      <CopyLine text={command} label="The same on a command line" />
      <div class="dialog-end">
        <Button is="primary tone-good" disabled={busy !== null || todo.length === 0} onClick={onStart}>
          {busy === 'Starting …' ? busy : todo.length === 0 ? 'Nothing to do' : `Start ${plural(todo.length, 'item')}`}
        </Button>
      </div>
    </section>
  );
}
