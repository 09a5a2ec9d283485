import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { Tone } from '../api.ts';
import type { Resource } from './store.ts';

/** What a status means: the same colour and word everywhere. */
const STATUSES: Record<string, { tone: Tone | 'quota'; word: string }> = {
  succeeded: { tone: 'good', word: 'done' },
  skipped: { tone: 'plain', word: 'skipped' },
  discuss: { tone: 'wait', word: 'needs you' },
  failed: { tone: 'bad', word: 'failed' },
  'timed-out': { tone: 'bad', word: 'timed out' },
  'over-budget': { tone: 'bad', word: 'over budget' },
  stalled: { tone: 'bad', word: 'stalled' },
  crashed: { tone: 'bad', word: 'crashed' },
  paused: { tone: 'quota', word: 'paused' },
  cancelled: { tone: 'plain', word: 'cancelled' },
  running: { tone: 'active', word: 'running' },
  waiting: { tone: 'plain', word: 'waiting' },
  interrupted: { tone: 'plain', word: 'interrupted' },
  finished: { tone: 'good', word: 'finished' },
};

export function toneOf(status: string): Tone | 'quota' {
  return STATUSES[status]?.tone ?? 'plain';
}

export function wordOf(status: string): string {
  return STATUSES[status]?.word ?? status;
}

/** `waits for you`, said of a run: the word of an item would be wrong there. */
export function Status({ of, word }: { of: string; word?: string | undefined }) {
  return (
    <span class={`status tone-${toneOf(of)}`}>
      <i class="dot" aria-hidden="true" />
      {word ?? wordOf(of)}
    </span>
  );
}

/** Plain text in which what stands between backticks is code. */
export function Words({ text }: { text: string }) {
  return <>{text.split('`').map((piece, at) => (at % 2 === 0 ? piece : <code key={at}>{piece}</code>))}</>;
}

/** Text with a button that copies it. */
export function CopyLine({ text, label }: { text: string; label: string }) {
  const [isCopied, setCopied] = useState(false);
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(text).catch(() => undefined);
    setCopied(true);
    setTimeout(() => setCopied(false), 1_500);
  };
  return (
    <div class="copy-line">
      <code tabIndex={0} role="textbox" aria-readonly="true" aria-label={label}>
        {text}
      </code>
      <button type="button" class="button small" onClick={() => void copy()}>
        {isCopied ? 'Copied' : 'Copy'}
      </button>
    </div>
  );
}

interface EmptyProps {
  title: string;
  /** Of a page that shows nothing else. */
  page?: string;
  children?: ComponentChildren;
}

export function Empty({ title, page, children }: EmptyProps) {
  return (
    <div class="empty">
      {page !== undefined && <h1>{page}</h1>}
      <p class="empty-title">{title}</p>
      {children}
    </div>
  );
}

/** What is asked for, in its three states; the room is the same in all of them. */
export function Loaded<Data>({ of, children }: { of: Resource<Data>; children: (data: Data) => ComponentChildren }) {
  if (of.data !== null) {
    return (
      <>
        {of.error !== null && <p class="banner tone-bad">{of.error} What is shown may be old.</p>}
        {children(of.data)}
      </>
    );
  }
  if (of.error !== null) return <Empty title={of.error} />;
  return (
    <div class="skeleton" role="status" aria-label="Loading">
      <i />
      <i />
      <i />
    </div>
  );
}

export function Kbd({ children }: { children: string }) {
  return <kbd>{children}</kbd>;
}

/** A number with its name below. */
export function Figure({ value, name, note }: { value: ComponentChildren; name: string; note?: ComponentChildren }) {
  return (
    <div class="figure">
      <dt>{name}</dt>
      <dd>
        {value}
        {note !== undefined && <small>{note}</small>}
      </dd>
    </div>
  );
}

export function Card({
  title,
  aside,
  children,
  id,
}: {
  title: string;
  aside?: ComponentChildren;
  children: ComponentChildren;
  id?: string;
}) {
  return (
    <section class="card" aria-label={title} id={id}>
      <header>
        <h2>{title}</h2>
        {aside}
      </header>
      {children}
    </section>
  );
}
