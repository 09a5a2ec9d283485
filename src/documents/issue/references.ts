/** What a criterion says that it settles. */
export interface References {
  scenarios: number[];
  requirements: number[];
}

const SCENARIO = String.raw`(?:scenarios?|sc|s)`;
const REQUIREMENT = String.raw`(?:requirements?|reqs?|fr|nfr|r)`;
const ONE = String.raw`(?<![\p{L}\p{N}])(?:${SCENARIO}|${REQUIREMENT})[\s._#-]{0,2}\d{1,3}(?![\p{L}\p{N}])`;
/** `S1`, `S1, R2`, `S1–S3 and R2`, `covers S1, 2`. */
const GROUP = String.raw`(?:covers?:?\s*|settles?:?\s*|for\s+|see\s+)?${ONE}(?:[\s,;&/+–—.…-]*(?:and\s+|to\s+)?(?:${ONE}|\d{1,3}(?![\p{L}\p{N}])))*`;

const BRACKETED = new RegExp(String.raw`[([]\s*(${GROUP})\s*[)\]]`, 'giu');
const LEADING = new RegExp(String.raw`^\W*(${GROUP})\s*[:–—-]+\s*`, 'iu');
const TRAILING = new RegExp(String.raw`(?:^|[.;,:–—→|]\s*|\s-\s+)(${GROUP})[\s.]*$`, 'iu');
/** Sure to be one wherever they stand. */
const IN_FULL =
  /(?<![\p{L}\p{N}-])(?:scenarios?\s+(?:S[\s-]?)?|requirements?\s+(?:R[\s-]?)?|REQ-?)\d{1,3}(?![\p{L}\p{N}])/giu;
const TOKEN = new RegExp(
  String.raw`(?:(?<scenario>${SCENARIO})|(?<requirement>${REQUIREMENT}))?[\s._#-]*?(?<![\d])0*(?<number>\d{1,3})(?!\d)\s*(?<range>[-–—…]|\.{2,3}|\bto\b)?`,
  'giu',
);
const ALL = /\ball (?:the )?(scenarios|requirements)\b/gi;
/** `AC1:`, `AC-1 –`; the document counts its own. */
const LABEL = /^\W*(?:ac|criterion)[\s._#-]*\d{1,3}(?=\W)[\s.:)\]*–—-]*/i;
const WIDEST_RANGE = 50;

/**
 * The references of a criterion, and its text without them. `S3` in the middle of a sentence may be a product's name, so
 * only brackets, the beginning and the end are read for short names; `scenario 3` and `REQ-3` count anywhere.
 */
export function readReferences(given: string, known: References): { text: string; references: References } {
  const references: References = { scenarios: [], requirements: [] };
  const take = (_: string, group: string): string => {
    addReferences(group, references);
    return ' ';
  };
  const text = given
    .replace(LABEL, '')
    .replace(BRACKETED, take)
    .trim()
    .replace(LEADING, take)
    .replace(TRAILING, take)
    .replace(/\s+/g, ' ')
    .replace(/ (?=[.,;]$)/, '')
    .trim();
  for (const [mention] of text.matchAll(IN_FULL)) addReferences(mention, references);
  for (const [, kind = ''] of text.matchAll(ALL)) {
    const which = kind.toLowerCase() === 'scenarios' ? 'scenarios' : 'requirements';
    references[which].push(...known[which]);
  }
  return {
    text,
    references: {
      scenarios: [...new Set(references.scenarios)],
      requirements: [...new Set(references.requirements)],
    },
  };
}

/** A bare number is of the kind of the one before: `S1, 2` are two scenarios, `S1–S3` are three. */
function addReferences(group: string, references: References): void {
  let kind: keyof References | null = null;
  let from: number | null = null;
  for (const { groups = {} } of group.matchAll(TOKEN)) {
    const own: keyof References | null = groups['scenario']
      ? 'scenarios'
      : groups['requirement']
        ? 'requirements'
        : null;
    if (own !== null && own !== kind) from = null;
    kind = own ?? kind;
    if (kind === null) continue;
    const number = Number(groups['number']);
    const isRange = from !== null && number > from && number - from < WIDEST_RANGE;
    for (let next = isRange && from !== null ? from + 1 : number; next <= number; next++) references[kind].push(next);
    from = groups['range'] === undefined ? null : number;
  }
}
