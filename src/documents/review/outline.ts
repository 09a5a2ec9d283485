import type { Heading, Paragraph, Root, RootContent } from 'mdast';
import { plainText } from '../markdown.ts';
import { bareTitle, knownArea, meaningOfHeading, type SectionKind } from './headings.ts';
import type { Tier } from './review.ts';
import { linesOf } from './text.ts';
import { labelledVerdict } from './verdict-word.ts';

/** What stands under one heading, and what that heading means where it stands. */
export interface Part {
  kind: SectionKind | 'preamble' | 'other';
  title: string;
  depth: number;
  /** Depth of the heading that began this kind of section; deeper headings belong to it. */
  sectionDepth: number;
  tier: Tier | 0;
  area: string;
  /** Depth of the heading that named the area, 0 without one. */
  areaDepth: number;
  /** A heading inside a tier that is no area but a finding's own title. */
  findingTitle: string | null;
  blocks: RootContent[];
}

const LABEL_FIRST = /^\W*(?:\w+ ){0,2}verdict\b/i;
const NUMBERED = /^\W*(?:\d+(?:\.\d+)*[.):]|(?:issue|finding)\s*#?\d+|F\d+\b|T?\d+[.-]\d+)/i;

function newPart(title: string, depth: number, meaning: { kind: Part['kind'] } & Partial<Part>): Part {
  return {
    title,
    depth,
    sectionDepth: depth,
    tier: 0,
    area: '',
    areaDepth: 0,
    findingTitle: null,
    blocks: [],
    ...meaning,
  };
}

/** The document as a flat list of parts, one for each heading, in order. */
export function outlineOf(root: Root, text: string): Part[] {
  let current = newPart('', 0, { kind: 'preamble' });
  const parts = [current];
  const open = (part: Part): void => {
    current = part;
    parts.push(part);
  };
  const take = (node: RootContent, next: RootContent | undefined): void => {
    if (node.type === 'heading' && isRealHeading(node, text)) {
      open(partOf(plainText(node), node.depth, current, parts.length === 1));
      return;
    }
    const informal = node.type === 'paragraph' ? informalPart(node, current, next) : null;
    if (informal) open(informal);
    else current.blocks.push(node);
    if (!informal || node.type !== 'paragraph' || informal.blocks.length > 0) return;
    // Boxes may follow in the same line, or on the next lines of the paragraph; so may a second heading.
    const rest = afterFirstLine(node);
    if (linesOf(node).length > 1 + (rest ? linesOf(rest).length : 0)) current.blocks.push(node);
    else if (rest) take(rest, next);
  };
  for (const [index, node] of root.children.entries()) take(node, root.children[index + 1]);
  return parts;
}

function afterFirstLine(node: Paragraph): Paragraph | null {
  const at = node.children.findIndex(
    (child) => child.type === 'break' || (child.type === 'text' && child.value.includes('\n')),
  );
  const child = node.children[at];
  if (!child) return null;
  const text = child.type === 'text' ? child.value.slice(child.value.indexOf('\n') + 1) : '';
  const rest = node.children.slice(at + 1);
  return { ...node, children: text === '' ? rest : [{ type: 'text', value: text }, ...rest] };
}

/** A rule under a paragraph turns it into a heading by accident; boxes and sentences are no headings. */
function isRealHeading(node: Heading, text: string): boolean {
  if (text[node.position?.start.offset ?? 0] === '#') return true;
  const lines = linesOf(node);
  const [line] = lines;
  return (
    lines.length === 1 && line?.box === null && meaningOfHeading(line.text, false) !== null && line.text.length < 60
  );
}

function partOf(title: string, depth: number, current: Part, isFirst: boolean): Part {
  const meaning = meaningOfHeading(title, isFirst);
  const area = knownArea(title);
  const inside = depth > current.sectionDepth;
  const staysInside = (): Part => newPart(title, depth, { kind: current.kind, sectionDepth: current.sectionDepth });
  const kind = current.kind;
  if (kind === 'previous' && inside) return staysInside();
  if (kind === 'tier' && (inside || area)) {
    const leaves =
      meaning?.kind === 'verdict' || meaning?.kind === 'questions' || (meaning?.kind === 'tier' && meaning.tier !== 0);
    return meaning && leaves && !area ? newPart(title, depth, meaning) : partInsideTier(title, depth, current);
  }
  if (kind === 'coverage' && inside && meaning?.kind !== 'tier' && meaning?.kind !== 'questions') return staysInside();
  if ((kind === 'pre-flight' || kind === 'open-questions' || kind === 'verdict') && inside && !meaning)
    return staysInside();
  if (meaning) return newPart(title, depth, meaning);
  // A review that lost its beginning may start below the tier's heading: the area tells the tier.
  if (area) return newPart(title, depth, { kind: 'tier', ...area, areaDepth: depth, sectionDepth: depth - 1 });
  return newPart(title, depth, { kind: 'other' });
}

function partInsideTier(title: string, depth: number, current: Part): Part {
  const { tier, sectionDepth } = current;
  const known = knownArea(title);
  if (known) return newPart(title, depth, { kind: 'tier', tier, sectionDepth, area: known.area, areaDepth: depth });
  const belowArea = current.areaDepth > 0 && depth > current.areaDepth;
  const besideFinding = current.findingTitle !== null && depth === current.depth;
  if (belowArea || besideFinding || NUMBERED.test(title)) {
    const { area, areaDepth } = belowArea || besideFinding ? current : { area: '', areaDepth: 0 };
    return newPart(title, depth, { kind: 'tier', tier, sectionDepth, area, areaDepth, findingTitle: bareTitle(title) });
  }
  return newPart(title, depth, { kind: 'tier', tier, sectionDepth, area: bareTitle(title), areaDepth: depth });
}

/** A bold line, a `##Heading` without its space, or the bare word before the boxes, where it can only be a heading. */
function informalPart(node: Paragraph, current: Part, next: RootContent | undefined): Part | null {
  if (current.kind === 'previous') return null;
  const [line, ...more] = linesOf(node);
  // A verdict below the tiers ends them even without a heading of its own.
  if (line && current.kind === 'tier' && line.box === null && labelledVerdict(line.text) && LABEL_FIRST.test(line.text))
    return newPart('', 2, { kind: 'verdict', blocks: [node] });
  if (!line || line.box !== null || line.text.length > 80) return null;
  const hash = /^(#{1,6})(?=[^#\s])/.exec(line.text);
  const [first] = node.children;
  const isBold = first?.type === 'strong' && bareTitle(plainText(first)) === bareTitle(line.text);
  if (!hash && !isBold && !/^(?:final |overall )?verdict:?$/i.test(line.text)) return null;

  const { tier, sectionDepth } = current;
  const area = knownArea(line.text);
  if (current.kind === 'tier' && area) {
    return newPart(line.text, 6, { kind: 'tier', tier, sectionDepth, area: area.area, areaDepth: 6 });
  }
  const meaning = meaningOfHeading(line.text, false);
  const closesCoverage = meaning?.kind === 'tier' || meaning?.kind === 'questions' || hash !== null;
  if (meaning && current.kind === 'coverage' && !closesCoverage) return null;
  if (meaning && meaning.kind !== 'title' && !(meaning.kind === 'tier' && meaning.tier === 0)) {
    return newPart(line.text, hash?.[1]?.length ?? 2, meaning);
  }
  const namesArea = isBold && more.length === 0 && next?.type === 'list' && line.text.split(/\s+/).length <= 3;
  if (current.kind !== 'tier' || !namesArea) return null;
  return newPart(line.text, 6, { kind: 'tier', tier, sectionDepth, area: bareTitle(line.text), areaDepth: 6 });
}

/** Whether any section is there that only a review has. */
export function hasReviewSections(parts: Part[]): boolean {
  const kinds: Part['kind'][] = ['tier', 'verdict', 'pre-flight', 'coverage'];
  return parts.some(({ kind }) => kinds.includes(kind));
}
