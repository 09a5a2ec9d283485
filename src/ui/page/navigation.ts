import { signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';

/** `#/run/<id>` is `{ page: 'run', words: ['<id>'] }`. */
export interface Route {
  page: string;
  words: string[];
}

function parse(hash: string): Route {
  const [page = '', ...words] = hash.replace(/^#\/?/, '').split('/');
  return { page: page || 'inbox', words: words.map((word) => decodeURIComponent(word)) };
}

export const route = signal<Route>(parse(location.hash));

addEventListener('hashchange', () => {
  route.value = parse(location.hash);
});

export function link(...words: string[]): string {
  return `#/${words.map(encodeURIComponent).join('/')}`;
}

export function go(...words: string[]): void {
  location.hash = link(...words);
}

/** Without an entry in the history. */
export function replace(...words: string[]): void {
  history.replaceState(null, '', link(...words));
  route.value = parse(location.hash);
}

type Keys = Record<string, (event: KeyboardEvent) => void>;

/** The innermost component comes last, and its keys take precedence. */
const layers: { current: Keys }[] = [];
let prefix = '';

/** Shortcuts while a component is shown: `j`, `?`, `Enter`, or `g i` for a sequence. Ignored while a person types. */
export function useKeys(keys: Keys): void {
  const layer = useRef(keys);
  layer.current = keys;
  useEffect(() => {
    layers.push(layer);
    return () => void layers.splice(layers.indexOf(layer), 1);
  }, []);
}

document.addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
  if (document.querySelector('dialog[open]') !== null) return;
  const pressed = prefix === '' ? event.key : `${prefix} ${event.key}`;
  prefix = '';
  for (const { current } of layers.toReversed()) {
    const handler = current[pressed];
    if (handler === undefined) continue;
    event.preventDefault();
    handler(event);
    return;
  }
  const isPrefix = layers.some(({ current }) => Object.keys(current).some((key) => key.startsWith(`${event.key} `)));
  if (isPrefix) prefix = event.key;
});

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement && (target.isContentEditable || /^(?:INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
  );
}
