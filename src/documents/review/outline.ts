import type { Heading, Paragraph, Root, RootContent } from 'mdast';
import { plainText } from '../markdown.ts';
import type { Tier } from './review.ts';
import { linesOf } from './text.ts';
import { labelledVerdict } from './verdict-word.ts';

type SectionKind =
  | 'title'
  | 'identity'
  | 'pre-flight'
  | 'summary'
  | 'open-questions'
  | 'coverage'
  | 'tier'
  | 'questions'
  | 'verdict'
  | 'previous';

/** What stands under one heading, and what that heading means where it stands. */
export interface Part {
  kind: SectionKind | 'preamble' | 'other';
  title: string;
  /** Depth of the heading that began this kind of section; deeper headings belong to it. */
  depth: number;
  /** 0: a list of findings that names the tier with each of them, or nowhere. */
  tier: Tier | 0;
  /** What a heading inside a tier says: an area, or the title of a finding. */
  area: string;
  blocks: RootContent[];
}

const AREAS: Record<string, Tier> = {
  cost: 1,
  safety: 1,
  security: 1,
  legal: 1,
  architecture: 2,
  observability: 2,
  quality: 2,
  // A scenario that holds already: it is set to be one, and holds nothing back.
  guard: 3,
};

/** What a heading announces, the first that fits. */
const TIERS: [Tier | 0, RegExp][] = [
  [0, /^tiers? ?1 ?(?:&|and|\/|\+|,) ?(?:tier ?)?2\b/i],
  [1, /\btier[\s\-–—:#]*(?:1|i|one)\b/i],
  [2, /\btier[\s\-–—:#]*(?:2|ii|two)\b/i],
  [3, /\btier[\s\-–—:#]*(?:3|iii|three)\b/i],
  [0, /^(?:(?:major|serious|main|remaining|outstanding) )?concerns$/i],
  [3, /\bnon-?blocking\b|\bsuggestions?\b|\bnice[- ]to[- ]haves?\b|^(?:minor|optional|low[- ]priority|nits?)\b/i],
  [1, /^(?:\w+ )?(?:blocking|blockers?)\b|^(?:critical|P0|SEV-?[01]|required changes|changes required|must[- ]fix)\b/i],
  [2, /^high[- ]priority\b|^major\b/i],
  [0, /^(?:(?:review |key |open |detailed )?findings|issues(?: found| identified)?|action items|problems)$/i],
];
const PREVIOUS =
  /\b(?:previous(?:ly)?|prior|earlier|past|last)\b.*\b(?:reviews?|rounds?|verdicts?|findings?|issues?|feedback|concerns?|raised)\b|\b(?:reviews?|verdicts?|findings?|issues?) (?:history|log|ledger)\b|\b(?:status|state|disposition) of\b|^ledger\b|^(?:example|template|instructions)\b/i;
const BEFORE_TIERS: [SectionKind, RegExp][] = [
  ['previous', PREVIOUS],
  ['pre-flight', /\bpre-?\s?flight\b/i],
  ['open-questions', /\bopen questions?\b|\bquestions? resolved\b|\bresolved questions?\b/i],
  ['questions', /^(?:\w+ )?questions?\b|\bfor (?:the )?orchestrator\b/i],
  ['coverage', /\bcoverage\b/i],
];
const AFTER_TIERS: [SectionKind, RegExp][] = [
  [
    'verdict',
    /\bverdict\s*[:=–—(-]|^(?!.*\b(?:legend|criteria|options|key|rules|meanings?|definitions?)\b).*\bverdict\b/i,
  ],
  ['identity', /\bidentity\b/i],
  ['summary', /\bsummary\b/i],
  [
    'verdict',
    /^(?:final |overall |review )?(?:decision|determination|disposition|outcome|recommendation|conclusion)\b/i,
  ],
];
const SETTLED =
  /^(?:all )?(?:resolved|settled|fixed|addressed|withdrawn|closed)\b|[([–—:-]\s*(?:all )?(?:resolved|settled|fixed|addressed|closed)\b/i;
/** The document's own title, whatever the reviewed thing is called ("LLD Review: Verdict Parser"). */
const TITLE = /^(?:[\w-]+\s+){0,4}review(?:\s+(?:report|results?|of|for|round|#?\d+)\b|\s*$|\s*[:#(–—-])/i;

/** The words without numbering, emoji, markup and a trailing colon. */
export function bareTitle(title: string): string {
  return title
    .replace(/^#+\s*/, '')
    .replace(/[*_`]+/g, '')
    .replace(/^[\s\p{Extended_Pictographic}\uFE0F\u200D]+/u, '')
    .replace(/^(?:§\s*)?(?:\d+(?:\.\d+)*[.):]?|[a-z][.)])\s+/i, '')
    .replace(/[\s:：\p{Extended_Pictographic}\uFE0F]+$/u, '')
    .trim();
}

/** The area that a heading or label names, in its usual spelling, and the tier that it belongs to; else null. */
export function knownArea(title: string): { area: string; tier: Tier } | null {
  const word = bareTitle(title)
    .toLowerCase()
    .replace(/\s*\(.*\)$/, '')
    .replace(/\s+(?:issues?|concerns?|findings?|review|considerations?)$/, '')
    .replace(/^guards$/, 'guard');
  const tier = AREAS[word];
  return tier === undefined ? null : { area: word.charAt(0).toUpperCase() + word.slice(1), tier };
}

type Meaning = Pick<Part, 'kind' | 'tier' | 'area'>;

/** What a heading of a review announces, or null. */
export function meaningOfHeading(heading: string, isFirst: boolean): Meaning | null {
  const title = bareTitle(heading);
  const plain = (kind: SectionKind): Meaning => ({ kind, tier: 0, area: '' });
  if (isFirst && TITLE.test(title) && !/^[\w\s-]*\bverdict\s*[:=]/i.test(title)) return plain('title');
  const before = BEFORE_TIERS.find(([, pattern]) => pattern.test(title));
  if (before) return plain(before[0]);
  const tier = TIERS.find(([, pattern]) => pattern.test(title));
  if (tier && SETTLED.test(title)) return plain('previous');
  if (tier) {
    // "Tier 1: BLOCKING Issues (Security)"
    const areas = (title.match(/\p{L}+/gu) ?? []).flatMap((word) => knownArea(word)?.area ?? []);
    return { kind: 'tier', tier: tier[0], area: areas.length === 1 ? (areas[0] ?? '') : '' };
  }
  const after = AFTER_TIERS.find(([, pattern]) => pattern.test(title));
  if (after) return plain(after[0]);
  return TITLE.test(title) ? plain('title') : null;
}

function newPart(title: string, depth: number, meaning: Pick<Part, 'kind'> & Partial<Part>): Part {
  return { title, depth, tier: 0, area: '', blocks: [], ...meaning };
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
  const [line, ...more] = linesOf(node);
  if (!line || more.length > 0 || line.box !== null || line.text.length >= 60) return false;
  return meaningOfHeading(line.text, false) !== null;
}

function partOf(title: string, level: number, current: Part, isFirst: boolean): Part {
  const meaning = meaningOfHeading(title, isFirst);
  const area = knownArea(title);
  const { kind, tier, depth } = current;
  const inside = level > depth;
  if (kind === 'tier' && (inside || area)) {
    const leaves = meaning && (['verdict', 'questions'].includes(meaning.kind) || meaning.tier !== 0);
    if (leaves && !area) return newPart(title, level, meaning);
    return newPart(title, depth, { kind, tier, area: area?.area ?? bareTitle(title) });
  }
  const endsCoverage = meaning?.kind === 'tier' || meaning?.kind === 'questions';
  const stays =
    kind === 'previous' ||
    (kind === 'coverage' && !endsCoverage) ||
    (!meaning && ['pre-flight', 'open-questions', 'verdict'].includes(kind));
  if (inside && stays) return newPart(title, depth, { kind });
  if (meaning) return newPart(title, level, meaning);
  // A review that lost its beginning may start below the tier's heading: the area tells the tier.
  return area ? newPart(title, level - 1, { kind: 'tier', ...area }) : newPart(title, level, { kind: 'other' });
}

/** A bold line, a `##Heading` without its space, or the bare word before the boxes, where it can only be a heading. */
function informalPart(node: Paragraph, current: Part, next: RootContent | undefined): Part | null {
  const { kind, tier, depth } = current;
  const [line, ...more] = linesOf(node);
  if (!line || line.box !== null || kind === 'previous') return null;
  // A verdict below the tiers or the questions ends them even without a heading of its own.
  if (
    (kind === 'tier' || kind === 'questions') &&
    /^\W*(?:\w+ ){0,2}verdict\b/i.test(line.text) &&
    labelledVerdict(line.text)
  )
    return newPart('', 2, { kind: 'verdict', blocks: [node] });
  const hash = /^(#{1,6})(?=[^#\s])/.exec(line.text);
  const [first] = node.children;
  const isBold = first?.type === 'strong' && bareTitle(plainText(first)) === bareTitle(line.text);
  const isBare = /^(?:final |overall )?verdict:?$/i.test(line.text);
  if (line.text.length > 80 || (!hash && !isBold && !isBare)) return null;
  const areaPart = (area: string): Part => newPart(line.text, depth, { kind: 'tier', tier, area });
  const area = knownArea(line.text);
  if (kind === 'tier' && area) return areaPart(area.area);
  const meaning = meaningOfHeading(line.text, false);
  const closesCoverage = meaning?.kind === 'tier' || meaning?.kind === 'questions' || hash !== null;
  if (meaning && kind === 'coverage' && !closesCoverage) return null;
  if (meaning && meaning.kind !== 'title' && !(meaning.kind === 'tier' && meaning.tier === 0))
    return newPart(line.text, hash?.[1]?.length ?? 2, meaning);
  const namesArea = isBold && more.length === 0 && next?.type === 'list' && line.text.split(/\s+/).length <= 3;
  return kind === 'tier' && namesArea ? areaPart(bareTitle(line.text)) : null;
}

/** Whether any section is there that only a review has. */
export function hasReviewSections(parts: Part[]): boolean {
  return parts.some(({ kind }) => ['tier', 'verdict', 'pre-flight', 'coverage'].includes(kind));
}
