import { signal } from '@preact/signals';

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

/** Without a step in the history: the address follows what is looked at. */
export function replace(...words: string[]): void {
  history.replaceState(null, '', link(...words));
  route.value = parse(location.hash);
}
