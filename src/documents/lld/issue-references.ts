import type { Nodes } from 'mdast';
import { plainText } from '../markdown.ts';

/** Text in which each reference to an issue is a mark of its own, so that a grammar can tell it from other words. */
export interface ReferredText {
  text: string;
  /** What a mark in the text stands for. */
  idOf: (mark: string) => string;
}

/** How the mark of a reference begins. */
export const MARK = '\uE000';
/** A pattern for the mark of one reference. */
export const REFERENCE = `${MARK}\\d+\uE001`;

/** In the place of code: it is no word, so it ends a phrase. */
const CODE = '\uE002';

const ID = '[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,62}[A-Za-z0-9_])?';
const ISSUE = String.raw`(?:(?:github\s+)?issues?\s+(?:no\.?\s*|number\s+)?)?`;
const REFERENCES = new RegExp(
  [
    // `issues/12.md`, `docs/lld/LLD-7.md`, and addresses that end so
    String.raw`(?<![\w/])(?:https?:\/\/[\w./-]*\/|(?:[\w.-]+\/)*)(?:issues\/|lld\/LLD-)(${ID})(?:\.md)?(?![\w/-])`,
    // `#12`, `issue #12`, `LLD-7`, `GH-12`; not `owner/repository#12`
    String.raw`(?<![\p{L}\p{N}_/.#&-])${ISSUE}(?:#|GH-|LLD-|LLD\s+#)(${ID})(?:\.md)?(?![\w/-])(?!\.\d)`,
    // `issue 12`, `issues 12, 13 and 14`, `LLD 7`
    String.raw`(?<![\p{L}\p{N}_-])(?:issues?|llds?)\s+(?:no\.?\s*|number\s+)?(\d+(?:\s*(?:,|,?\s+and|&)\s*\d+)*)(?![\w.-]*\d|%)`,
  ].join('|'),
  'giu',
);
const PLACEHOLDER = /^(?:tbd|tba|todo|none|n{2,}|\d*x{2,}|issue|id|number|based|style|like|driven|level)$/i;
const QUOTED = /"[^"\n]*"|“[^”\n]*”/g;

/** Code and quotations are left out unless they are nothing but a reference; line breaks are kept. */
export function referredText(node: Nodes): ReferredText {
  const ids: string[] = [];
  const mark = (id: string): string => `\uE000${ids.push(id) - 1}\uE001`;
  const text = textOf(node)
    .replace(QUOTED, (quoted) => (isReference(quoted.slice(1, -1)) ? quoted.slice(1, -1) : CODE))
    .replace(REFERENCES, (all, path: string | undefined, hash: string | undefined, list: string | undefined) => {
      if (list !== undefined) return (list.match(/\d+/g) ?? []).map(mark).join(', ');
      const id = path ?? hash ?? '';
      return PLACEHOLDER.test(id) ? all : mark(id);
    });
  return { text, idOf: (found) => ids[Number(found.slice(1, -1))] ?? '' };
}

function isReference(text: string): boolean {
  const trimmed = text.trim();
  return trimmed !== '' && trimmed.replace(REFERENCES, '') === '';
}

function textOf(node: Nodes): string {
  if (node.type === 'inlineCode') return isReference(node.value) ? node.value : CODE;
  if (node.type === 'text') return node.value;
  if (node.type === 'break') return '\n';
  if (node.type === 'html') return /^<br\b/i.test(node.value) ? '\n' : '';
  if (node.type === 'link') return linkText(plainText(node), node.url);
  // What is struck out does not hold any more.
  if (node.type === 'delete') return '';
  return 'children' in node ? node.children.map((child) => textOf(child)).join('') : '';
}

/** `[Add login](issues/add-login.md)` names its issue only in the address. */
function linkText(text: string, url: string): string {
  if (text.search(REFERENCES) >= 0) return text;
  const address = url.replace(/[?#].*$/, '').replace(/^(?:\.{1,2}\/)+/, '');
  const target = /^LLD-[\w-]+\.md$/.test(address) ? address.replace(/\.md$/, '') : address;
  return isReference(target) ? target : text;
}
