import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { count, toneOf, wordOf } from './format.ts';
import type { Resource } from './store.ts';

/** `word` overrides the usual one, e.g. `waits for you` for a run. */
export function Status({ of, word }: { of: string; word?: string | undefined }) {
  return <Mark tone={toneOf(of)}>{word ?? wordOf(of)}</Mark>;
}

/** Text after a dot of its colour. */
export function Mark({ tone, children }: { tone: string; children: ComponentChildren }) {
  return (
    <span class={`status tone-${tone}`}>
      <i class="dot" aria-hidden="true" />
      {children}
    </span>
  );
}

interface ButtonProps {
  /** Classes: `primary`, `small`, `quiet`, a tone. */
  is?: string;
  /** Its keyboard shortcut. */
  kbd?: string | false;
  label?: string;
  title?: string | undefined;
  disabled?: boolean;
  onClick: () => unknown;
  children: ComponentChildren;
}

export function Button({ is = '', kbd, label, onClick, children, ...rest }: ButtonProps) {
  return (
    <button type="button" class={`button ${is}`} aria-label={label} onClick={() => void onClick()} {...rest}>
      {children} {kbd && <Kbd>{kbd}</Kbd>}
    </button>
  );
}

/** Modal as soon as it is rendered. `onClose` has to stop rendering it. */
export function Dialog({
  is,
  label,
  onClose,
  children,
}: {
  is: string;
  label: string;
  onClose: () => void;
  children: ComponentChildren;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} class={is} aria-label={label} onClose={onClose}>
      {children}
    </dialog>
  );
}

interface TableProps {
  is?: string;
  label: string;
  heads: readonly ComponentChildren[];
  /** The first right-aligned column. */
  rightFrom?: number;
  foot?: ComponentChildren;
  children: ComponentChildren;
}

export function Table({ is = '', label, heads, rightFrom = heads.length, foot, children }: TableProps) {
  return (
    <div class="table-room" tabIndex={0} role="region" aria-label={label}>
      <table class={is}>
        <thead>
          <tr>
            {heads.map((head, at) => (
              <th key={at} scope="col" class={at < rightFrom ? '' : 'right'}>
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
        {foot !== undefined && <tfoot>{foot}</tfoot>}
      </table>
    </div>
  );
}

interface TabsProps<Value extends string> {
  is?: string;
  label: string;
  options: readonly { value: Value; text: string; many?: number }[];
  value: Value;
  onChange: (value: Value) => void;
}

export function Tabs<Value extends string>({ is = '', label, options, value, onChange }: TabsProps<Value>) {
  return (
    <div class={`tabs ${is}`} role="group" aria-label={label}>
      {options.map((one) => (
        <button key={one.value} type="button" aria-pressed={value === one.value} onClick={() => onChange(one.value)}>
          {one.text} {one.many !== undefined && <small>{count(one.many)}</small>}
        </button>
      ))}
    </div>
  );
}

export function Search({ label, value, onChange }: { label: string; value: string; onChange: (text: string) => void }) {
  return (
    <input
      type="search"
      placeholder="Search"
      aria-label={label}
      value={value}
      onInput={(event) => onChange(event.currentTarget.value)}
    />
  );
}

/** Plain text with code between backticks. */
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
      <Button is="small" onClick={copy}>
        {isCopied ? 'Copied' : 'Copy'}
      </Button>
    </div>
  );
}

interface EmptyProps {
  title: string;
  /** The page's heading, if it shows nothing else. */
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

/** A resource in its three states: loading, failed, loaded. */
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

interface CardProps {
  is?: string;
  id?: string;
  title: string;
  aside?: ComponentChildren;
  children: ComponentChildren;
}

export function Card({ is = '', id, title, aside, children }: CardProps) {
  return (
    <section class={`card ${is}`} aria-label={title} id={id}>
      <header>
        <h2>{title}</h2>
        {aside}
      </header>
      {children}
    </section>
  );
}

export function textIn(form: FormData, name: string): string {
  const value = form.get(name);
  return typeof value === 'string' ? value : '';
}
