import type { Nodes } from 'mdast';
import { DESIGN_SIZES, type DesignSize } from '../../core/config.ts';
import { flatText, markedText } from '../markdown.ts';
import type { DocumentSection } from '../sections.ts';

/** What a design says in the fields of its template (`* **Depends on:** #12`), and nowhere else. */
export interface LldFields {
  /** Ids of issues that have to be done first, in the order in which they are named. */
  dependsOn: string[];
  /** The percentage of changed lines that the tests have to cover; null: the design asks for none. */
  coverageTarget: number | null;
  /** How much of the template the drafter means to fill; null: it does not say. */
  size: DesignSize | null;
}

/** Where a field may stand: the context, the dependencies, the tests, the definition of done. */
const SECTIONS = new Set(['1', '2.2', '10', '12']);
const DEPENDS_ON = /^\W*depends on\W*:\s*(.*)$|^\W*related issues?\W*:.*?\bdepends on:?\s+(.*)$/is;
const COVERAGE = /^\W*(?:test |line )?coverage target\W*:\W*(\d{1,3}(?:\.\d+)?)\s*%/i;
const SIZE = /^\W*size\W*:\W*(small|normal|large)\b/i;
const REFERENCE = /(?:#|issues\/|LLD-|GH-)([A-Za-z0-9_-]{1,64})|(?<![\w.-])(\d+)(?![\w.-])/g;

export function readFields(sections: DocumentSection[]): LldFields {
  const lines = sections.filter(({ id }) => SECTIONS.has(id)).flatMap(({ nodes }) => nodes.flatMap(linesOf));
  const value = (field: RegExp): string[] => lines.flatMap((line) => field.exec(line)?.slice(1).find(Boolean) ?? []);
  const target = Number(value(COVERAGE)[0]);
  const size = value(SIZE)[0]?.toLowerCase();
  return {
    dependsOn: [...new Set(value(DEPENDS_ON).flatMap(idsIn))],
    coverageTarget: target > 0 && target <= 100 ? target : null,
    size: DESIGN_SIZES.find((known) => known === size) ?? null,
  };
}

function idsIn(value: string): string[] {
  const named = value.replace(/\([^)]*\)/g, ' ');
  return [...named.matchAll(REFERENCE)].flatMap(([, linked, bare]) => linked ?? bare ?? []);
}

function linesOf(node: Nodes): string[] {
  if (node.type === 'list') return node.children.map((item) => flatText(item));
  return node.type === 'paragraph' ? markedText(node).split('\n') : [];
}
