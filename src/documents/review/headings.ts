import type { Tier } from './review.ts';

export type SectionKind =
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

export interface HeadingMeaning {
  kind: SectionKind;
  /** 0: a list of findings that names the tier with each of them, or nowhere. */
  tier: Tier | 0;
  area: string;
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
const TIER_NUMBERS: Record<string, Tier> = { '1': 1, i: 1, one: 1, '2': 2, ii: 2, two: 2, '3': 3, iii: 3, three: 3 };
const TIER = /\btier[\s\-–—:#]*([1-3]|i{1,3}|one|two|three)\b/gi;

const SEVERAL_TIERS = /^tiers? ?1 ?(?:&|and|\/|\+|,) ?(?:tier ?)?2\b/i;

const SETTLED =
  /^(?:all )?(?:resolved|settled|fixed|addressed|withdrawn|closed)\b|[([–—:-]\s*(?:all )?(?:resolved|settled|fixed|addressed|closed)\b/i;
const PREVIOUS =
  /\b(?:previous(?:ly)?|prior|earlier|past|last)\b.*\b(?:reviews?|rounds?|verdicts?|findings?|issues?|feedback|concerns?|raised)\b|\b(?:reviews?|verdicts?|findings?|issues?) (?:history|log|ledger)\b|\b(?:status|state|disposition) of\b|^ledger\b|^(?:example|template|instructions)\b/i;

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

/** Whether a heading is the document's own title, whatever the reviewed thing is called ("LLD Review: Verdict Parser"). */
function isTitle(title: string): boolean {
  return /^(?:[\w-]+\s+){0,4}review(?:\s+(?:report|results?|of|for|round|#?\d+)\b|\s*$|\s*[:#(–—-])/i.test(title);
}

function tierOf(title: string): Tier | 0 | null {
  const numbers = new Set([...title.matchAll(TIER)].map((match) => TIER_NUMBERS[(match[1] ?? '').toLowerCase()]));
  const [number] = numbers;
  if (number !== undefined && numbers.size === 1 && !SEVERAL_TIERS.test(title)) return number;
  if (number !== undefined) return SEVERAL_TIERS.test(title) ? 0 : null;
  if (/^(?:(?:major|serious|main|remaining|outstanding) )?concerns$/i.test(title)) return 0;
  if (
    /\bnon-?blocking\b|\bsuggestions?\b|\bnice[- ]to[- ]haves?\b|^(?:minor|optional|low[- ]priority|nits?)\b/i.test(
      title,
    )
  )
    return 3;
  if (
    /^(?:\w+ )?(?:blocking|blockers?)\b|^(?:critical|P0|SEV-?[01])\b|^(?:required changes|changes required|must[- ]fix)\b/i.test(
      title,
    )
  )
    return 1;
  if (/^high[- ]priority\b|^major\b/i.test(title)) return 2;
  return /^(?:(?:review |key |open |detailed )?findings|issues(?: found| identified)?|action items|problems)$/i.test(
    title,
  )
    ? 0
    : null;
}

/** The area in "Tier 1: BLOCKING Issues (Security)". */
function areaBeside(title: string): string {
  const rest = title
    .replace(TIER, ' ')
    .replace(/\b(?:blocking|high[- ]priority|high|suggestions?|critical|issues?|findings?)\b/gi, ' ');
  return knownArea(rest.replace(/[^\p{L}]+/gu, ' ').trim())?.area ?? '';
}

/** What a heading of a review announces, or null. */
export function meaningOfHeading(heading: string, isFirst: boolean): HeadingMeaning | null {
  const title = bareTitle(heading);
  const plain = (kind: SectionKind): HeadingMeaning => ({ kind, tier: 0, area: '' });
  const announcesVerdict = /\bverdict\s*[:=–—(-]/i.test(title);
  if (isFirst && isTitle(title) && !/^[\w\s-]*\bverdict\s*[:=]/i.test(title)) return plain('title');
  if (PREVIOUS.test(title)) return plain('previous');
  if (/\bpre-?\s?flight\b/i.test(title)) return plain('pre-flight');
  if (/\bopen questions?\b|\bquestions? resolved\b|\bresolved questions?\b/i.test(title))
    return plain('open-questions');
  if (/^(?:\w+ )?questions?\b|\bfor (?:the )?orchestrator\b/i.test(title)) return plain('questions');
  if (/\bcoverage\b/i.test(title)) return plain('coverage');
  const tier = tierOf(title);
  if (tier !== null) {
    if (SETTLED.test(title)) return plain('previous');
    return { kind: 'tier', tier, area: areaBeside(title) };
  }
  if (
    announcesVerdict ||
    (/\bverdict\b/i.test(title) && !/\b(?:legend|criteria|options|key|rules|meanings?|definitions?)\b/i.test(title))
  ) {
    return plain('verdict');
  }
  if (/\bidentity\b/i.test(title)) return plain('identity');
  if (/\bsummary\b/i.test(title)) return plain('summary');
  if (
    /^(?:final |overall |review )?(?:decision|determination|disposition|outcome|recommendation|conclusion)\b/i.test(
      title,
    )
  ) {
    return plain('verdict');
  }
  return isTitle(title) ? plain('title') : null;
}
