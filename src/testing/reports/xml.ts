import { XMLParser, XMLValidator } from 'fast-xml-parser';
import { z } from 'zod';

export interface XmlElement {
  name: string;
  attributes: Readonly<Record<string, string>>;
  children: XmlElement[];
  /** Its own text, without that of its children. */
  text: string;
}

const parser = new XMLParser({
  preserveOrder: true,
  ignoreAttributes: false,
  attributeNamePrefix: '',
  parseTagValue: false,
  parseAttributeValue: false,
  trimValues: false,
  // The only way to have references by number resolved.
  htmlEntities: true,
});

/** A node is `{'#text': …}`, or `{<name>: [nodes], ':@': {attributes}}`. */
const nodeSchema = z.object({ '#text': z.string().optional(), ':@': z.record(z.string(), z.string()).optional() });
const nodesSchema = z.array(nodeSchema.catchall(z.unknown())).catch([]);

/** Null where it is not XML, or is cut off. */
export function parseXml(source: string): XmlElement | null {
  const xml = source.replace(/^\uFEFF/, '');
  try {
    if (XMLValidator.validate(xml) !== true) return null;
    return elementsIn(parser.parse(xml)).find(({ name }) => !name.startsWith('?')) ?? null;
  } catch {
    return null;
  }
}

function elementsIn(content: unknown): XmlElement[] {
  return nodesSchema.parse(content).flatMap((node) => {
    const name = Object.keys(node).find((key) => key !== '#text' && key !== ':@');
    if (name === undefined) return [];
    const text = nodesSchema.parse(node[name]).map((inner) => inner['#text'] ?? '');
    return [{ name, attributes: node[':@'] ?? {}, children: elementsIn(node[name]), text: text.join('') }];
  });
}

/** The element itself and all elements below it with that name, in the order of the document. */
export function elementsNamed(element: XmlElement, name: string): XmlElement[] {
  const below = element.children.flatMap((child) => elementsNamed(child, name));
  return element.name === name ? [element, ...below] : below;
}
