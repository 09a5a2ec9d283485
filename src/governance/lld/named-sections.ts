import { readTitle, wordStem } from './section-titles.ts';
import { contentWords, sharedWords } from './word-overlap.ts';

/** What a section can be named by: its own number, else that of the section around it, and its title. */
export interface NamedPart {
  number: string | null;
  key: string;
}

/**
 * How reviewers speak of a template section without giving its number or title. Single words that fit any finding
 * (security, cost, function) are left out on purpose: they would name a section that nobody meant to give up.
 */
const ALIASES: [title: string, words: RegExp][] = [
  ['Context & Goal', /\b(?:objective|goals?|issue (?:link|number|field|reference)|related issues?|#?TBD)\b/i],
  ['Open Questions', /\bopen questions?\b/i],
  [
    'Files Changed',
    /\bfiles? (?:changed |change )?(?:table|list|section)\b|\b(?:list|table) of files\b|\bfile paths?\b/i,
  ],
  ['Dependencies', /\bdependenc(?:y|ies)\b/i],
  ['Data Structures', /\bdata (?:structures?|models?|types?)\b|\bschemas?\b|\btype definitions?\b/i],
  ['Function Signatures', /\bsignatures?\b/i],
  ['Logic Flow', /\blogic(?:al)? flow\b|\bpseudo-?code\b|\bflow steps?\b|\bstep \d+\b/i],
  ['Technical Approach', /\btechnical approach\b/i],
  ['Architecture Decisions', /\b(?:architect\w+|design) decisions?\b|\bdecisions? table\b/i],
  ['Requirements', /\brequirements?\b|\bREQ-?\d+\b|\bR\d+\b/i],
  ['Alternatives Considered', /\balternatives\b|\balternative (?:approach|option|design)s?\b/i],
  ['Data & Fixtures', /\bfixtures?\b|\btest data\b/i],
  ['Diagram', /\bdiagrams?\b|\bmermaid\b|\bflowcharts?\b/i],
  [
    'Security & Safety Considerations',
    /\b(?:security|safety) (?:section|considerations?)\b|\bfail(?:ure)? mode\b|\bthreat model\b/i,
  ],
  ['Performance & Cost Considerations', /\b(?:performance|cost) (?:section|considerations?|budgets?)\b|\bbudgets?\b/i],
  [
    'Legal & Compliance',
    /\b(?:legal|compliance) (?:section|considerations?)\b|\blicen[cs](?:e|es|ing)\b|\bGDPR\b|\bpersonal data\b/i,
  ],
  [
    'Verification & Testing',
    /\btest (?:plan|suite|scenario|case|table|scope|section|coverage|strategy)s?\b|\bscenarios?\b|\bpass criteri(?:a|on)\b|\bT(?:est )?\d{3}\b|\bverification\b|\btesting\b/i,
  ],
  ['Risks & Mitigations', /\bmitigations?\b|\brisks? (?:table|section|register)\b/i],
  ['Definition of Done', /\bdefinition of done\b|\bDoD\b/],
  ['Review Log', /\breview log\b/i],
];
const ALIASES_BY_KEY = new Map(ALIASES.map(([title, words]) => [readTitle(title).key, words]));

const NUMBER_LIST =
  /(?:\bsect(?:ion|ions|\.)|\bsecs?\.|§+)\s*((?:\d{1,2}(?:\.\d{1,2})*)(?:(?:\s*(?:,|&|\/|and|or|to|[-–])\s*)+(?:§|sections?\s+)?\d{1,2}(?:\.\d{1,2})*)*)/gi;
const BARE_NUMBER =
  /(?<![\w.$€£<>=≥≤~^@-])(?<!\b(?:version|python|node|java|go|ruby|rust|tls|http|gemini|gpt|claude)\s)(\d{1,2}(?:\.\d{1,2})+)(?![\w%]|\.\d|\s*(?:%|x\b|k?b\b|[kmg]i?b\b|m?s\b|sec|min|hours?|times|usd|dollars|€))/gi;

/** Whether one of the findings speaks of this section. `all` are the sections of the same draft. */
export function isNamed(part: NamedPart, all: NamedPart[], findings: string[]): boolean {
  return findings.some(
    (finding) =>
      namedByNumber(part, all, finding) || namedByTitle(part, finding) || namedByTitle(parentOf(part, all), finding),
  );
}

function namedByNumber(part: NamedPart, all: NamedPart[], finding: string): boolean {
  const own = part.number;
  if (own === null) return false;
  const listed = [...finding.matchAll(NUMBER_LIST)].flatMap((match) => match[1]?.match(/\d{1,2}(?:\.\d{1,2})*/g) ?? []);
  // "Section 7.2" of a draft with one section 7 means that one; a bare number that is no section's means something else.
  const sections = listed.flatMap((number) => nearestExisting(number, all) ?? []);
  const bare = [...finding.matchAll(BARE_NUMBER)].flatMap((match) => match[1] ?? []);
  return [...sections, ...bare].some((number) => own === number || own.startsWith(`${number}.`));
}

function nearestExisting(number: string, all: NamedPart[]): string | null {
  for (let candidate = number; candidate !== ''; candidate = candidate.split('.').slice(0, -1).join('.')) {
    if (all.some((part) => part.number === candidate)) return candidate;
  }
  return null;
}

function namedByTitle(part: NamedPart | undefined, finding: string): boolean {
  if (!part || part.key === '') return false;
  const words = ` ${(finding.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [])
    .map(wordStem)
    .filter((word) => word !== 'and' && word !== 'of' && word !== 'the')
    .join(' ')} `;
  if (words.includes(` ${part.key} `)) return true;
  const title = contentWords(part.key);
  if (title.size > 1 && sharedWords(title, contentWords(finding)) === title.size) return true;
  return ALIASES_BY_KEY.get(part.key)?.test(finding) ?? false;
}

/** A subsection is named with the section around it, but `2.5` of `Proposed Changes` not by what names section 2.4. */
function parentOf(part: NamedPart, all: NamedPart[]): NamedPart | undefined {
  const parent = part.number?.split('.').slice(0, -1).join('.');
  return parent ? all.find((other) => other.number === parent) : undefined;
}

/** Whether a finding cites something that stands in this text: an identifier of it, or most of its words. */
export function isTouched(text: string, findings: string[]): boolean {
  const words = contentWords(text);
  return findings.some((finding) => {
    const cited = [...finding.matchAll(/`([^`\n]{3,})`/g)].flatMap((match) => match[1] ?? []);
    if (cited.some((identifier) => text.includes(identifier))) return true;
    return sharedWords(words, contentWords(finding)) >= Math.max(2, words.size * 0.4);
  });
}
