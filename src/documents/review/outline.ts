import type { Root } from 'mdast';
import { plainText } from '../../markdown/markdown.ts';
import { type Block, type Line, linesOf } from './lines.ts';
import type { Tier } from './review.ts';
import { labelledVerdict } from './verdict-word.ts';

type Kind =
  | 'title'
  | 'identity'
  | 'pre-flight'
  | 'summary'
  | 'open-questions'
  | 'coverage'
  | 'tier'
  | 'questions'
  | 'verdict'
  | 'previous'
  | 'evidence'
  | 'preamble'
  | 'other';

/** What stands under one heading, and what that heading means where it stands. */
export interface Part {
  kind: Kind;
  title: string;
  /** Depth of the heading that began this kind of section; deeper headings belong to it. */
  depth: number;
  /** 0: a list of findings that names the tier with each of them, or nowhere. */
  tier: Tier | 0;
  /** What a heading inside a tier says: an area, or the title of a finding. */
  area: string;
  blocks: Block[];
}

type Meaning = Pick<Part, 'kind' | 'tier' | 'area'>;

/** What a heading announces, the first that fits. Tier 0 is of findings that are in no tier. */
const HEADINGS: [Kind | Tier | 0, RegExp][] = [
  [
    'previous',
    /\b(?:previous(?:ly)?|prior|earlier|past|last)\b.*\b(?:reviews?|rounds?|verdicts?|findings?|issues?|feedback|concerns?|raised)\b|\b(?:reviews?|verdicts?|findings?|issues?) (?:history|log|ledger)\b|\b(?:status|state|disposition) of\b|^ledger\b|^(?:example|template|instructions)\b/i,
  ],
  ['pre-flight', /\bpre-?\s?flight\b/i],
  ['open-questions', /\bopen questions?\b|\bquestions? resolved\b|\bresolved questions?\b/i],
  ['questions', /^(?:\w+ )?questions?\b|\bfor (?:the )?orchestrator\b/i],
  ['coverage', /\bcoverage\b/i],
  [0, /^tiers? ?1 ?(?:&|and|\/|\+|,) ?(?:tier ?)?2\b/i],
  [1, /\btier[\s\-–—:#]*(?:1|i|one)\b/i],
  [2, /\btier[\s\-–—:#]*(?:2|ii|two)\b/i],
  [3, /\btier[\s\-–—:#]*(?:3|iii|three)\b/i],
  [0, /^(?:\w+ )?(?:concerns|conditions|caveats|reservations|objections|prerequisites)$/i],
  [3, /\bnon-?blocking\b|\bsuggestions?\b|\bnice[- ]to[- ]haves?\b|^(?:minor|optional|low[- ]priority|nits?)\b/i],
  [1, /^(?:\w+ )?(?:blocking|blockers?)\b|^(?:critical|P0|SEV-?[01]|required changes|changes required|must[- ]fix)\b/i],
  [2, /^high[- ]priority\b|^major\b/i],
  [0, /^(?:(?:review |key |open |detailed )?findings|issues(?: found| identified)?|action items|problems)$/i],
  [
    'verdict',
    /\bverdict\s*[:=–—(-]|^(?!.*\b(?:legend|criteria|options|key|rules|meanings?|definitions?)\b).*\bverdict\b/i,
  ],
  ['identity', /\bidentity\b/i],
  ['evidence', /^evidence\b/i],
  ['summary', /\bsummary\b|^(?:key )?(?:strengths|positives|highlights)\b|^what (?:works|is good)\b/i],
  [
    'verdict',
    /^(?:final |overall |review )?(?:decision|determination|disposition|outcome|recommendation|conclusion)\b/i,
  ],
];
const SETTLED =
  /^(?:all )?(?:resolved|settled|fixed|addressed|withdrawn|closed)\b|[([–—:-]\s*(?:all )?(?:resolved|settled|fixed|addressed|closed)\b/i;
/** The document's own title, whatever the reviewed thing is called ("LLD Review: Verdict Parser"). */
const TITLE = /^(?:[\w-]+\s+){0,4}review(?:\s+(?:report|results?|of|for|round|#?\d+)\b|\s*$|\s*[:#(–—-])/i;

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

/** What a heading of a review announces, or null. */
export function meaningOfHeading(heading: string, isFirst: boolean): Meaning | null {
  const title = bareTitle(heading);
  const plain = (kind: Kind): Meaning => ({ kind, tier: 0, area: '' });
  if (isFirst && TITLE.test(title) && !/^[\w\s-]*\bverdict\s*[:=]/i.test(title)) return plain('title');
  const [found] = HEADINGS.find(([, pattern]) => pattern.test(title)) ?? [TITLE.test(title) ? 'title' : null];
  if (found === null || typeof found === 'string') return found === null ? null : plain(found);
  if (SETTLED.test(title)) return plain('previous');
  // "Tier 1: BLOCKING Issues (Security)"
  const areas = (title.match(/\p{L}+/gu) ?? []).flatMap((word) => knownArea(word)?.area ?? []);
  return { kind: 'tier', tier: found, area: areas.length === 1 ? (areas[0] ?? '') : '' };
}

function newPart(title: string, depth: number, meaning: Pick<Part, 'kind'> & Partial<Part>): Part {
  return { title, depth, tier: 0, area: '', blocks: [], ...meaning };
}

/** A line that is meant to be a heading stands below all real ones. */
const LOWEST = 6;

/** The document as a flat list of parts, one for each heading, in order. */
export function outlineOf({ root, text }: { root: Root; text: string }): Part[] {
  let part = newPart('', 0, { kind: 'preamble' });
  const parts = [part];
  const begin = (title: string, depth: number): void => {
    part = partOf(title, depth, part, parts.length === 1);
    parts.push(part);
  };
  for (const [index, given] of root.children.entries()) {
    if (given.type === 'heading' && text.startsWith('#', given.position?.start.offset)) {
      begin(plainText(given), given.depth);
      continue;
    }
    // A rule right below a paragraph makes it a heading in Markdown, but is meant as a rule.
    const node = given.type === 'heading' ? { ...given, type: 'paragraph' as const } : given;
    const lines = linesOf(node);
    const isAboveList = root.children[index + 1]?.type === 'list';
    while (node.type === 'paragraph' && lines[0] && isTitle(lines[0], part, isAboveList && lines.length === 1))
      begin(lines.shift()?.text ?? '', LOWEST);
    if (node.type === 'paragraph' && lines[0] && endsTiers(lines[0], part)) begin('Verdict', LOWEST);
    if (node.type !== 'paragraph' || lines.length > 0) part.blocks.push({ node, lines });
  }
  return parts;
}

/**
 * Whether a line of a paragraph is meant to be a heading: a bold line, `##Heading` without its space or the bare word Verdict,
 * if it names a section, an area inside a tier, or stands above a list there.
 */
function isTitle({ text, bold }: Line, { kind }: Part, isAboveList: boolean): boolean {
  const isMarked = bold === 'all' || /^#{1,6}[^#\s].{0,79}$|^(?:final |overall )?verdict:?$/i.test(text);
  const meaning = isMarked ? meaningOfHeading(text, false) : null;
  // The coverage section has a verdict and a calculation of its own.
  const isOwn = kind === 'coverage' && bold === 'all' && meaning?.kind !== 'tier' && meaning?.kind !== 'questions';
  if (!isMarked || isOwn) return false;
  const isArea = knownArea(text) !== null || (isAboveList && text.split(/\s+/).length <= 3);
  return meaning !== null || (kind === 'tier' && isArea);
}

/** A labelled verdict ends the tiers and questions above it, even without a heading. */
function endsTiers({ said }: Line, { kind }: Part): boolean {
  return (
    ['tier', 'questions'].includes(kind) && /^\W*(?:\w+ ){0,2}verdict\b/i.test(said) && labelledVerdict(said) !== null
  );
}

function partOf(title: string, level: number, { kind, tier, depth }: Part, isFirst: boolean): Part {
  const meaning = meaningOfHeading(title, isFirst);
  const area = knownArea(title);
  const inside = level > depth;
  if (kind === 'tier' && (inside || area)) {
    const leaves =
      !area && meaning && (meaning.tier !== 0 || meaning.kind === 'verdict' || meaning.kind === 'questions');
    if (!leaves) return newPart(title, depth, { kind, tier, area: area?.area ?? bareTitle(title) });
  }
  const stays =
    kind === 'previous' ||
    // The coverage section has a verdict of its own.
    (kind === 'coverage' && meaning?.kind !== 'tier' && meaning?.kind !== 'questions') ||
    (!meaning && ['pre-flight', 'open-questions', 'verdict'].includes(kind));
  if (inside && stays) return newPart(title, depth, { kind });
  if (meaning) return newPart(title, level, meaning);
  // A review that lost its beginning may start below the tier's heading: the area tells the tier.
  return area ? newPart(title, level - 1, { kind: 'tier', ...area }) : newPart(title, level, { kind: 'other' });
}

export function linesIn({ blocks }: Part): Line[] {
  return blocks.flatMap(({ lines }) => lines);
}

/** Whether any section is there that only a review has. */
export function hasReviewSections(parts: readonly Part[]): boolean {
  return parts.some(({ kind }) => ['tier', 'verdict', 'pre-flight', 'coverage'].includes(kind));
}
