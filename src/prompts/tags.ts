import { oneLine } from '../core/lines.ts';

/**
 * Text from outside in a tag, so that its headings can't be taken for a part of the prompt. If the text holds the end tag, the
 * tag is made longer: no text can close it from inside.
 */
export function tagged(tag: string, text: string): string {
  // A model reads `</ISSUE >` as an end tag, too.
  const ends = [...text.matchAll(new RegExp(`<\\s{0,9}/\\s{0,9}${tag}(-*)\\s{0,9}>`, 'gi'))];
  const taken = new Set(ends.map(([, dashes = '']) => dashes.length));
  let dashes = 0;
  while (taken.has(dashes)) dashes += 1;
  const name = tag + '-'.repeat(dashes);
  return `<${name}>\n${text.trim()}\n</${name}>`;
}

/** Each entry as one line, in a tag; null if there is none. */
export function taggedList(tag: string, entries: readonly string[]): string | null {
  return entries.length === 0 ? null : tagged(tag, entries.map((entry) => `- ${oneLine(entry)}`).join('\n'));
}

/** A few words from outside within a sentence of ours: one line, and nothing in it that looks like a tag. */
export function taggedWords(tag: string, text: string): string {
  return `<${tag}>${oneLine(text).replaceAll(/[<>]/g, '')}</${tag}>`;
}

/** The content of a tag at the beginning of a text, or null. */
export function untagged(tag: string, text: string): string | null {
  return new RegExp(`^<(${tag}-*)>\\n([^]*?)\\n</\\1>`).exec(text)?.[2] ?? null;
}
