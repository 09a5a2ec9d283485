import { AgentosError } from './errors.ts';
import { sha256 } from './hash.ts';

/** Safe as a file name, a branch name and an argument: it can only come from `parseItemId`. */
export type ItemId = string & { readonly __brand: 'ItemId' };

export const LONGEST_ID = 64;
const ITEM_ID = new RegExp(`^[a-zA-Z0-9_-]{1,${LONGEST_ID}}$`);

export function isItemId(text: string): text is ItemId {
  return ITEM_ID.test(text);
}

/** The only way from text to an id, so that no path is built from anything else. */
export function parseItemId(text: string): ItemId {
  if (!isItemId(text)) throw new AgentosError({ code: 'bad-id', id: text });
  return text;
}

/** Sorts by time, differs between runs that start at the same moment, and is bound to one state folder. */
export function runIdOf(startedAt: Date, base: string, pid: number): string {
  const stamp = startedAt.toISOString().replace(/[-:.]/g, '');
  return `${stamp}-${sha256(`${base}\0${pid}\0${stamp}`).slice(0, 8)}`;
}
