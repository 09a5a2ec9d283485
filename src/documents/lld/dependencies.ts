import type { ListItem, Nodes, RootContent, Table } from 'mdast';
import { plainText } from '../markdown.ts';
import { dependencyMarks } from './dependency-phrases.ts';
import type { LldDocument } from './document.ts';
import { sameIssue } from './issue-number.ts';
import { referredText } from './issue-references.ts';

/** Where a design speaks of itself: not the alternatives, not the inputs of tests, not the log of its review. */
const SECTIONS = new Set(['1', '2', '2.1', '2.2', '2.3', '2.4', '2.5', '2.6', '2.7', '3', '11', '12']);
const LABEL =
  /^\W*(?:\d[\d.]*\s+)?(?:(?:issue|internal|external|new|hard|upstream|project|its)\s+)*(?:dependenc(?:y|ies)|depends\s+on|dependent\s+on|blocked\s+by|blockers?|pre-?requisites?|preconditions?|requires|builds\s+on)(?:\s+(?:changes?|issues?|llds?|designs?|work))?\s*(?:\([^)]*\))?\W*$/i;
/** `Depends on: 12, 13` – where nothing but numbers is given, they are ids. */
const BARE_IDS =
  /^(\W*(?:depends\s+on|blocked\s+by|pre-?requisites?)(?:\s+issues?)?\W*:\s*)(\d+(?:\s*(?:,|and|&)\s*\d+)*)\W*$/i;
const NOT_THE_DESIGN = /\b(?:reject|alternativ|non-?goals?|out of scope|dependents|follow-?ups?)/i;
const FIELD_LINE = /\n(?=[*_\s]*\p{Lu}[\p{L} /&-]{0,30}[*_]*\s*:)/u;
const REFERENCE_COLUMN = /issue|depend|block|prerequisite|lld/i;

/**
 * The ids of issues that the design says it depends on, in the order in which it names them. What is merely related, or
 * depends on this design, is none; whether there is an issue with such an id is for others to see.
 */
export function dependenciesOf(lld: LldDocument): string[] {
  const own = [lld.titleIssue?.id, lld.contextIssue?.id].filter((id) => typeof id === 'string');
  const isOwn = (id: string): boolean => own.some((known) => sameIssue(id, known));
  const found = lld.sections
    .filter(({ id }) => SECTIONS.has(id))
    .flatMap(({ nodes, title }) => inNodes(nodes, LABEL.test(title), isOwn));
  return [...new Set(found)].filter((id) => !isOwn(id));
}

type IsOwn = (id: string) => boolean;

/** `isListed`: under a heading or label that says that what follows are dependencies. */
function inNodes(nodes: readonly RootContent[], isListed: boolean, isOwn: IsOwn): string[] {
  let heading: { depth: number; isListed: boolean; isDesign: boolean } | null = null;
  return nodes.flatMap((node, index) => {
    if (node.type === 'heading') {
      const title = plainText(node);
      // A heading below one that tells what its part is about does not change that.
      const isBelow = heading !== null && node.depth > heading.depth && (heading.isListed || !heading.isDesign);
      if (!isBelow) heading = { depth: node.depth, isListed: LABEL.test(title), isDesign: !NOT_THE_DESIGN.test(title) };
      return [];
    }
    if (heading?.isDesign === false) return [];
    const previous = nodes[index - 1];
    const isLabelled = previous?.type === 'paragraph' && LABEL.test(plainText(previous));
    return inNode(node, isLabelled || (heading?.isListed ?? isListed), isOwn);
  });
}

function inNode(node: Nodes, isListed: boolean, isOwn: IsOwn): string[] {
  switch (node.type) {
    case 'paragraph':
      return inText(node, isListed, isOwn);
    case 'list':
      return node.children.flatMap((item) => inItem(item, isListed, isOwn));
    case 'blockquote':
      return inNodes(node.children, isListed, isOwn);
    case 'table':
      return inTable(node, isListed, isOwn);
    default:
      return [];
  }
}

function inItem({ children: [first, ...rest] }: ListItem, isListed: boolean, isOwn: IsOwn): string[] {
  if (first === undefined) return [];
  const isLabel = first.type === 'paragraph' && LABEL.test(plainText(first));
  return [...inNode(first, isListed, isOwn), ...rest.flatMap((node) => inNode(node, isListed || isLabel, isOwn))];
}

function inText(node: Nodes, isListed: boolean, isOwn: IsOwn): string[] {
  const { text, idOf } = referredText(node);
  return text.split(FIELD_LINE).flatMap((lines) => {
    const statement = lines.replace(/\s+/g, ' ').trim();
    const bare = BARE_IDS.exec(statement)?.[2]?.match(/\d+/g);
    return bare ?? dependencyMarks(statement, isListed, (mark) => isOwn(idOf(mark))).map(idOf);
  });
}

/** A row is read as a whole, so that a cell can say what the one beside it is. */
function inTable(table: Table, isListed: boolean, isOwn: IsOwn): string[] {
  const [head, ...rows] = table.children;
  const titles = head?.children.map((cell) => plainText(cell)) ?? [];
  const listed = new Set([
    ...(isListed ? [0] : []),
    ...[...titles.keys()].filter(
      (at) => LABEL.test(titles[at] ?? '') || (isListed && REFERENCE_COLUMN.test(titles[at] ?? '')),
    ),
  ]);
  return rows.flatMap((row) => {
    const cells = row.children.map((cell) => referredText(cell));
    return cells.flatMap(({ text, idOf }, at) => {
      const isOwnMark = (mark: string): boolean => isOwn(idOf(mark));
      const marks = dependencyMarks(text, listed.has(at), isOwnMark);
      // The neighbour that says what a reference is: `| #12 | depends on |`, `| Depends on | #12 |`.
      const beside = [
        `${text} | ${withoutMarks(cells[at + 1]?.text)}`,
        `${withoutMarks(cells[at - 1]?.text)}: ${text}`,
      ].flatMap((pair) => dependencyMarks(pair, false, isOwnMark));
      return [...marks, ...beside].map(idOf);
    });
  });
}

/** Marks count within their own cell; a cell with some of its own says nothing about its neighbour. */
function withoutMarks(text = ''): string {
  return /\uE000/.test(text) ? '' : text;
}
