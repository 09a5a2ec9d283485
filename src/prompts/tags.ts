import { oneLine } from '../core/lines.ts';

/**
 * Material goes in tags, so that a document with headings of its own can't be taken for a part of the prompt. The tag is
 * made longer where the text holds its end: no text can close it from inside.
 */
export function tagged(tag: string, text: string): string {
  // However it is written: a model reads `</ISSUE >` as an end, too.
  const ends = [...text.matchAll(new RegExp(`<\\s{0,9}/\\s{0,9}${tag}(-*)\\s{0,9}>`, 'gi'))];
  const taken = new Set(ends.map(([, dashes = '']) => dashes.length));
  let dashes = 0;
  while (taken.has(dashes)) dashes += 1;
  const name = tag + '-'.repeat(dashes);
  return `<${name}>\n${text.trim()}\n</${name}>`;
}

/** A few words of outside in a sentence of ours: one line, and nothing in it that looks like a tag. */
export function taggedWords(tag: string, text: string): string {
  return `<${tag}>${oneLine(text).replaceAll(/[<>]/g, '')}</${tag}>`;
}

/** The material in a text that begins with it, or null. */
export function untagged(tag: string, text: string): string | null {
  return new RegExp(`^<(${tag}-*)>\\n([^]*?)\\n</\\1>`).exec(text)?.[2] ?? null;
}
