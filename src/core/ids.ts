import { AgentosError } from './errors.ts';

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
