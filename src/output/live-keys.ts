import { clockTime } from './live-figures.ts';
import type { Part } from './live-row.ts';
import { plainText } from './live-width.ts';
import type { ProgressView } from './progress.ts';

/** The pool in one row: how many keys can be used, and what keeps the others back. Null where no vendor is asked. */
export function keysRow({ keys, nowMs }: ProgressView): Part[] | null {
  if (keys.length === 0) return null;
  const named = (state: (typeof keys)[number]['state']): string =>
    keys
      .filter((key) => key.state === state)
      .map(({ id, untilMs }) => plainText(untilMs === null ? id : `${id} ${clockTime(untilMs - nowMs)}`))
      .join(', ');
  const count = (state: (typeof keys)[number]['state']): number => keys.filter((key) => key.state === state).length;
  const row: Part[] = [{ text: `keys  ${count('ready')} ready`, style: 'dim' }];
  if (count('cooling') > 0) {
    row.push({ text: `  ${count('cooling')} cooling (${named('cooling')})`, style: 'yellow' });
  }
  if (count('rejected') > 0) row.push({ text: `  ${count('rejected')} rejected (${named('rejected')})`, style: 'red' });
  return row;
}
