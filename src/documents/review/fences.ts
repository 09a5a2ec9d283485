import type { Code, Root } from 'mdast';
import { codeIn, parseMarkdown } from '../markdown.ts';
import { knownArea, meaningOfHeading } from './outline.ts';

const FENCE = /^[\s>]*(`{3,}|~{3,})/;
const CLOSING = /^[\s>]*(?:`{3,}|~{3,})\s*$/;
const REPAIRS = 5;

export interface FencedDocument {
  text: string;
  root: Root;
  /** A fence was opened and never closed. */
  unbalanced: boolean;
  /** The document with each fence that swallowed sections of the review closed before the first of them; null if none did. */
  recovered: { text: string; root: Root } | null;
}

/** Parses a review, takes it out of a fence around the whole of it, and finds fences that swallowed parts of it. */
export function parseFenced(given: string): FencedDocument {
  const text = withoutWrapper(given);
  const root = parseMarkdown(text);
  let unbalanced = codeIn(root).some((code) => isFenced(code, text) && !isClosed(code, text));
  let recovered: FencedDocument['recovered'] = null;
  for (let repair = 0; repair < REPAIRS; repair += 1) {
    const current: { text: string; root: Root } = recovered ?? { text, root };
    const culprit = codeIn(current.root).find((code) => swallowsSections(code, current.text));
    if (!culprit) break;
    unbalanced = true;
    const lines = sourceOf(culprit, current.text).split('\n');
    const section = lines.findIndex((line, index) => index > 0 && isReviewHeading(line));
    const at = (culprit.position?.start.offset ?? 0) + lines.slice(0, section).join('\n').length;
    const fence = FENCE.exec(lines[0] ?? '')?.[1] ?? '```';
    const closed = `${current.text.slice(0, at)}\n${fence}\n${current.text.slice(at)}`;
    recovered = { text: closed, root: parseMarkdown(closed) };
  }
  return { text, root, unbalanced, recovered };
}

function sourceOf(node: Code, text: string): string {
  return text.slice(node.position?.start.offset ?? 0, node.position?.end.offset ?? 0);
}

function isFenced(code: Code, text: string): boolean {
  return FENCE.test(sourceOf(code, text));
}

function isClosed(code: Code, text: string): boolean {
  const [, ...lines] = sourceOf(code, text).split('\n');
  return CLOSING.test(lines.at(-1) ?? '');
}

function isReviewHeading(line: string): boolean {
  const [, title] = /^#{1,4}\s*(\S.*)$/.exec(line) ?? [];
  return title !== undefined && (meaningOfHeading(title, false) !== null || knownArea(title) !== null);
}

/** Never closed, or closed only by the fence of a later block; a fence that closes properly quotes what is in it. */
function swallowsSections(code: Code, text: string): boolean {
  const lines = code.value.split('\n');
  if (!isFenced(code, text) || !lines.some(isReviewHeading)) return false;
  return !isClosed(code, text) || lines.some((line) => FENCE.test(line) && !CLOSING.test(line));
}

/** Without a ```markdown fence around the whole review: its first line, and the last fence that closes something. */
function withoutWrapper(text: string): string {
  const wrapper = parseMarkdown(text).children.find((node) => node.type !== 'paragraph');
  if (wrapper?.type !== 'code' || !isFenced(wrapper, text)) return text;
  // A rule or a sentence may stand above the title.
  const [, heading] = /^\s*(?:[^#\n]{1,200}\n\s*){0,2}#{1,3}\s+(.*)/.exec(wrapper.value) ?? [];
  if (!/^(?:markdown|md|text|)$/i.test(wrapper.lang ?? '')) return text;
  if (heading === undefined || meaningOfHeading(heading, true) === null) return text;
  const lines = text.split('\n');
  const last = lines.findLastIndex((line) => CLOSING.test(line));
  const first = (wrapper.position?.start.line ?? 1) - 1;
  return lines.filter((_, index) => index !== first && (index !== last || last <= first)).join('\n');
}
