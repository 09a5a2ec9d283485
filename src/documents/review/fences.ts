import type { Code, Nodes, Root } from 'mdast';
import { parseMarkdown } from '../markdown.ts';
import { knownArea, meaningOfHeading } from './headings.ts';

const FENCE_LINE = /^[\s>]*(`{3,}|~{3,})/;
const OPENING = /^[\s>]*(?:`{3,}|~{3,})[ \t]*[^\s`]/;
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
export function parseFenced(text: string): FencedDocument {
  const root = parseMarkdown(text);
  const unwrapped = withoutWrapper(text, root);
  if (unwrapped !== null) return withRecovery(unwrapped.text, parseMarkdown(unwrapped.text), unwrapped.unbalanced);
  return withRecovery(text, root, false);
}

function withRecovery(text: string, root: Root, wrapperUnbalanced: boolean): FencedDocument {
  let unbalanced = wrapperUnbalanced || fencedCode(root, text).some((code) => !isClosed(code, text));
  let recovered: FencedDocument['recovered'] = null;
  let current = { text, root };
  for (let repair = 0; repair < REPAIRS; repair += 1) {
    const culprit = fencedCode(current.root, current.text).find((code) => swallowsSections(code, current.text));
    if (!culprit) break;
    unbalanced = true;
    const closed = closeBeforeSections(culprit, current.text);
    current = { text: closed, root: parseMarkdown(closed) };
    recovered = current;
  }
  return { text, root, unbalanced, recovered };
}

function fencedCode(node: Nodes, text: string): Code[] {
  if (node.type === 'code') return FENCE_LINE.test(sourceOf(node, text)) ? [node] : [];
  return 'children' in node ? node.children.flatMap((child) => fencedCode(child, text)) : [];
}

function sourceOf(node: Code, text: string): string {
  return text.slice(node.position?.start.offset ?? 0, node.position?.end.offset ?? 0);
}

function isClosed(code: Code, text: string): boolean {
  const lines = sourceOf(code, text).split('\n');
  return lines.length > 1 && /^[\s>]*(?:`{3,}|~{3,})\s*$/.test(lines.at(-1) ?? '');
}

function isReviewHeading(line: string): boolean {
  if (!/^#{1,4}\s*\S/.test(line)) return false;
  const title = line.replace(/^#+\s*/, '');
  return meaningOfHeading(title, false) !== null || knownArea(title) !== null;
}

/** Never closed, or closed only by the fence of a later block; a fence that closes properly quotes what is in it. */
function swallowsSections(code: Code, text: string): boolean {
  if (!code.value.split('\n').some(isReviewHeading)) return false;
  return !isClosed(code, text) || code.value.split('\n').some((line) => OPENING.test(line));
}

function closeBeforeSections(code: Code, text: string): string {
  const lines = sourceOf(code, text).split('\n');
  const fence = FENCE_LINE.exec(lines[0] ?? '')?.[1] ?? '```';
  const section = lines.findIndex((line, index) => index > 0 && isReviewHeading(line));
  const before = (code.position?.start.offset ?? 0) + lines.slice(0, section).join('\n').length;
  return `${text.slice(0, before)}\n${fence}\n${text.slice(before)}`;
}

/** The document without a ```markdown fence around the whole review; sentences before and after it are kept. */
function withoutWrapper(text: string, root: Root): { text: string; unbalanced: boolean } | null {
  const index = root.children.findIndex((node) => node.type !== 'paragraph');
  const wrapper = root.children[index];
  if (wrapper?.type !== 'code' || !FENCE_LINE.test(sourceOf(wrapper, text))) return null;
  if (!/^(?:markdown|md|text|)$/i.test(wrapper.lang ?? '')) return null;
  const first = /^#{1,3}\s+(.*)$/m.exec(wrapper.value);
  const startsLikeReview =
    wrapper.value.trimStart().startsWith('#') && first !== null && meaningOfHeading(first[1] ?? '', true) !== null;
  if (!startsLikeReview) return null;
  const start = wrapper.position?.start.offset ?? 0;
  const end = wrapper.position?.end.offset ?? text.length;
  const closed = isClosed(wrapper, text);
  const rest = root.children.slice(index + 1);
  if (closed && rest.every((node) => node.type === 'paragraph' || node.type === 'thematicBreak')) {
    return { text: `${text.slice(0, start)}\n${wrapper.value}\n\n${text.slice(end)}`, unbalanced: false };
  }
  // A code block inside the review closed the wrapper early; its own closing fence is the last line.
  const inner = text.slice(0, start) + text.slice(text.indexOf('\n', start) + 1);
  const withoutLast = inner.replace(/\n[ \t]*(?:`{3,}|~{3,})[ \t]*\s*$/, '\n');
  return { text: withoutLast, unbalanced: withoutLast === inner };
}
