/*
 * The part of XML that test tools write: elements, attributes, text, CDATA and entities. Comments, processing
 * instructions and a document type are passed over. There is no validation beyond what it takes to read on.
 */

export interface XmlElement {
  name: string;
  attributes: Readonly<Record<string, string>>;
  children: XmlElement[];
  /** Its own text, without that of its children. */
  text: string;
}

const NAMED: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" };
const TAG = /<(\/?)([^\s/>]+)((?:\s+[^\s=/>]+\s*=\s*(?:"[^"]*"|'[^']*'))*)\s*(\/?)>/y;
const ATTRIBUTE = /([^\s=]+)\s*=\s*(?:"([^"]*)"|'([^']*)')/g;

/** Null where it is not XML, or ends in the middle. */
export function parseXml(source: string): XmlElement | null {
  const root: XmlElement = { name: '', attributes: {}, children: [], text: '' };
  const open = [root];
  const text = source.replace(/^\uFEFF/, '');
  let at = 0;
  while (at < text.length) {
    const current = open.at(-1);
    if (current === undefined) return null;
    const next = text.indexOf('<', at);
    current.text += withEntities(text.slice(at, next < 0 ? text.length : next));
    if (next < 0) break;
    const passed = endOfMarkup(text, next);
    if (passed !== null) {
      if (passed < 0) return null;
      if (text.startsWith('<![CDATA[', next)) current.text += text.slice(next + 9, passed - 3);
      at = passed;
      continue;
    }
    TAG.lastIndex = next;
    const tag = TAG.exec(text);
    if (tag === null) return null;
    const [, slash, name = '', attributes = '', closed] = tag;
    at = TAG.lastIndex;
    if (slash !== '') {
      if (current.name !== name || open.length === 1) return null;
      open.pop();
      continue;
    }
    const element: XmlElement = { name, attributes: attributesOf(attributes), children: [], text: '' };
    current.children.push(element);
    if (closed === '') open.push(element);
  }
  return open.length === 1 ? (root.children[0] ?? null) : null;
}

/** The end of a comment, CDATA section, instruction or document type; -1 where it has none; null for an element. */
function endOfMarkup(text: string, at: number): number | null {
  const closing = text.startsWith('<!--', at)
    ? '-->'
    : text.startsWith('<![CDATA[', at)
      ? ']]>'
      : text.startsWith('<?', at)
        ? '?>'
        : text.startsWith('<!', at)
          ? '>'
          : null;
  if (closing === null) return null;
  const found = text.indexOf(closing, at + (closing === '-->' ? 4 : 2));
  return found < 0 ? -1 : found + closing.length;
}

function attributesOf(text: string): Record<string, string> {
  const found: Record<string, string> = {};
  for (const [, name = '', double, single] of text.matchAll(ATTRIBUTE))
    found[name] = withEntities(double ?? single ?? '');
  return found;
}

function withEntities(text: string): string {
  if (!text.includes('&')) return text;
  return text.replace(/&(?:#x([\da-f]+)|#(\d+)|(\w+));/gi, (whole, hex?: string, decimal?: string, name?: string) => {
    if (name !== undefined) return NAMED[name] ?? whole;
    const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16);
    return code <= 0x10ffff ? String.fromCodePoint(code) : whole;
  });
}

/** The element itself and all elements below it with that name, in the order of the document. */
export function elementsNamed(element: XmlElement, name: string): XmlElement[] {
  const below = element.children.flatMap((child) => elementsNamed(child, name));
  return element.name === name ? [element, ...below] : below;
}
