/**
 * Material goes in tags, so that a document with headings of its own can't be taken for a part of the prompt. The tag is
 * made longer where the text holds its end: no text can close it from inside.
 */
export function tagged(tag: string, text: string): string {
  let name = tag;
  while (text.includes(`</${name}>`)) name += '-';
  return `<${name}>\n${text.trim()}\n</${name}>`;
}

/** The material in a text that begins with it, or null. */
export function untagged(tag: string, text: string): string | null {
  return new RegExp(`^<(${tag}-*)>\\n([^]*?)\\n</\\1>`).exec(text)?.[2] ?? null;
}
