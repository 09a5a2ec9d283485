import { signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import type { RunBrief } from '../api.ts';
import { Button, Dialog, Kbd } from './bits.tsx';
import { HeldDecisions } from './decide.tsx';
import { ago, clock, count, plural, toneOf } from './format.ts';
import { go, link, route, useKeys } from './navigation.ts';
import { startDialog } from './start.tsx';
import { canAct, connection, isReport, notices, nowMs, overview } from './store.ts';

const ICONS: Record<string, string> = {
  inbox: 'M2.5 9.5h3l1 2h3l1-2h3M2.5 9.5 4 3.5h8l1.5 6v3h-11z',
  run: 'M2.5 4h6M5.5 8h7M3.5 12h5',
  board: 'M2.5 3h3v10h-3zM6.5 3h3v6h-3zM10.5 3h3v8h-3z',
  money: 'M8 2.5v11M11 5c-.5-1-1.6-1.3-3-1.3-1.7 0-3 .7-3 2.1 0 3 6 1.4 6 4.4 0 1.4-1.3 2.1-3 2.1-1.6 0-2.8-.5-3.2-1.6',
};

function Icon({ name }: { name: string }) {
  return (
    <svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true" class="icon">
      <path
        d={ICONS[name]}
        fill="none"
        stroke="currentColor"
        stroke-width="1.4"
        stroke-linejoin="round"
        stroke-linecap="round"
      />
    </svg>
  );
}

type Theme = 'auto' | 'light' | 'dark';
const THEMES: Theme[] = ['auto', 'light', 'dark'];
export const theme = signal<Theme>(storedTheme());

function storedTheme(): Theme {
  try {
    return THEMES.find((one) => one === localStorage.getItem('agentos-theme')) ?? 'auto';
  } catch {
    return 'auto';
  }
}

function applyTheme(next: Theme): void {
  theme.value = next;
  document.documentElement.dataset['theme'] = next;
  try {
    localStorage.setItem('agentos-theme', next);
  } catch {
    // A report that is opened as a file may have no storage.
  }
}

function nextTheme(): void {
  applyTheme(THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length] ?? 'auto');
}

const isHelpOpen = signal(false);

export function Shell({ children }: { children: ComponentChildren }) {
  const { page } = route.value;
  const seen = overview.value;
  const newest = seen?.runs[0]?.runId;
  const runId = page === 'run' ? (route.value.words[0] ?? newest) : newest;
  useEffect(() => applyTheme(theme.value), []);
  useKeys({
    'g i': () => go('inbox'),
    'g r': () => (runId === undefined ? go('run') : go('run', runId)),
    'g b': () => go('board'),
    'g m': () => go('money'),
    '?': () => (isHelpOpen.value = true),
    t: nextTheme,
    n: () => canAct() && startDialog.open(),
    '/': () => document.querySelector<HTMLInputElement>('input[type=search]')?.focus(),
  });
  const entry = (name: string, text: string, href: string, badge?: number) => (
    <a href={href} aria-current={page === name ? 'page' : undefined}>
      <Icon name={name} />
      <span>{text}</span>
      {badge !== undefined && badge > 0 && (
        <b class="badge" aria-label={`${badge} waiting`}>
          {count(badge)}
        </b>
      )}
    </a>
  );
  return (
    <div class="shell">
      <a
        class="skip"
        href="#main"
        onClick={(event) => (event.preventDefault(), document.getElementById('main')?.focus())}
      >
        Skip to the content
      </a>
      <nav class="rail" aria-label="Pages">
        <p class="brand">
          <strong>{seen?.repository ?? 'agentos'}</strong>
          <small>{isReport ? `report of ${clock(Date.parse(seen?.writtenAt ?? ''))}` : seen && 'agentos'}</small>
        </p>
        <div class="nav">
          {entry('inbox', 'Inbox', link('inbox'), seen?.waiting)}
          {entry('run', 'Run', runId === undefined ? link('run') : link('run', runId))}
          {entry('board', 'Board', link('board'))}
          {entry('money', 'Money', link('money'))}
        </div>
        {canAct() && (
          <Button is="start" kbd="n" onClick={startDialog.open}>
            Start a batch
          </Button>
        )}
        <RunList runs={seen?.runs ?? []} current={page === 'run' ? (runId ?? null) : null} />
        <div class="rail-end">
          <Button is="quiet" onClick={nextTheme}>
            Theme: {theme.value}
          </Button>
          <Button is="quiet" label="Keys" onClick={() => (isHelpOpen.value = true)}>
            <Kbd>?</Kbd>
          </Button>
        </div>
      </nav>
      <main id="main" tabIndex={-1}>
        <Banners />
        {children}
      </main>
      <div class="toasts" aria-live="polite">
        <HeldDecisions />
        {notices.value.map(({ key, text, tone }) => (
          <p key={key} class={`toast tone-${tone}`}>
            {text}
          </p>
        ))}
      </div>
      {isHelpOpen.value && <Help />}
    </div>
  );
}

function RunList({ runs, current }: { runs: readonly RunBrief[]; current: string | null }) {
  if (runs.length === 0) return <div class="runs" />;
  return (
    <div class="runs">
      <h2>Runs</h2>
      <ul>
        {runs.map(({ runId, workflow, state, startedAt, items, counts }) => {
          const done = Object.values(counts).reduce((sum, many) => sum + many, 0);
          return (
            <li key={runId}>
              <a href={link('run', runId)} aria-current={current === runId ? 'true' : undefined}>
                <i class={`dot tone-${state === 'waiting' ? 'wait' : toneOf(state)}`} aria-hidden="true" />
                <span>
                  {workflow} <span class="muted">{ago(Date.parse(startedAt), nowMs.value)}</span>
                </span>
                <small>{state === 'running' ? `${done}/${items}` : count(items)}</small>
                <span class="visually-hidden">, {state}</span>
              </a>
            </li>
          );
        })}
      </ul>
    </div>
  );
}

function Banners() {
  if (connection.value === 'signed-out')
    return (
      <p class="banner tone-wait">Not signed in. Open the address that agentos ui printed: it contains the token.</p>
    );
  if (connection.value === 'lost')
    return <p class="banner tone-wait">The server does not answer. This page reconnects by itself.</p>;
  if (overview.value?.readOnly && !isReport)
    return <p class="banner">Read-only: nothing can be decided or started from here.</p>;
  return null;
}

const HELP: [keys: string[], what: string][] = [
  [['g i', 'g r', 'g b', 'g m'], 'Inbox, run, board, money'],
  [['j', 'k'], 'next, previous'],
  [['Enter'], 'open'],
  [['x'], 'select, for several at once'],
  [['a', 'r', 'd'], 'approve, revise, drop'],
  [['u'], 'undo the last decision, within 10 s'],
  [['[', ']'], 'previous, next failure of a run'],
  [['+', '-', '0'], 'zoom the timeline; arrows move it'],
  [['/'], 'search'],
  [['n'], 'start a batch'],
  [['t'], 'light or dark'],
  [['?'], 'this list'],
];

function Help() {
  return (
    <Dialog is="help" label="Keys" onClose={() => (isHelpOpen.value = false)}>
      <form method="dialog">
        <h2>Keys</h2>
        <dl>
          {HELP.map(([keys, what]) => (
            <div key={what}>
              <dt>
                {keys.map((key) => (
                  <Kbd key={key}>{key}</Kbd>
                ))}
              </dt>
              <dd>{what}</dd>
            </div>
          ))}
        </dl>
        <p class="muted">
          {plural(overview.value?.runs.length ?? 0, 'run')} here; agentos {overview.value?.version}
        </p>
        <button type="submit" class="button">
          Close
        </button>
      </form>
    </Dialog>
  );
}
