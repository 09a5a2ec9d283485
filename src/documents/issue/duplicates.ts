import { isCommon, stem } from '../words.ts';

/** Work that exists already: an issue, or the approved design of one. */
export interface KnownWork {
  id: string;
  kind: 'issue' | 'lld';
  title: string;
  text: string;
}

/** Existing work that a brief looks like. */
export interface Duplicate {
  id: string;
  title: string;
  /** An approved design is there. */
  designed: boolean;
  /** From 0 to 1; the same text has 1. */
  score: number;
  /** What both speak of, the rarest first. */
  shared: string[];
}

/** Below it, two texts only happen to use some of the same words. */
const WORTH_SHOWING = 0.3;
/** From here on the reviewer has to say whether it is the same again. */
export const LIKELY_DUPLICATE = 0.6;
const MOST_SHOWN = 3;
const MOST_TERMS_SHOWN = 6;
const FEWEST_SHARED = 2;
const TITLE_WEIGHT = 2;
/** What stands first says what it is about; the rest is detail. */
const MOST_CHARS = 4_000;
/**
 * A brief is a few lines and an issue a few pages. What the brief says and the issue doesn't tells them apart; what the
 * issue says on top of that tells little.
 */
const MISSING_WEIGHT = 0.7;
const EXTRA_WEIGHT = 0.06;

const CODE_WEIGHT = 2;
/** The words that a name is made of, beside the name itself. */
const PART_WEIGHT = 0.5;
const SHORTEST = 3;
/** Longer ones are hashes, tokens and data. */
const LONGEST = 60;
/** Words, paths and names, with what joins them. */
const TOKEN = /[\p{L}\p{N}_]+(?:[./:@-]+[\p{L}\p{N}_]+)*/gu;
const WORD = /[\p{L}\p{N}_]+/gu;
const IS_CODE = /[/_@]|\.\p{L}|\p{Ll}\p{Lu}|\p{L}::?\p{L}/u;
const PART = /\p{Lu}?[\p{Ll}]+|\p{Lu}+(?!\p{Ll})|\p{L}+|\p{N}+/gu;

/** Words that every issue has because it is one. */
const OF_ISSUES = new Set(
  (
    'acceptance add added adds allow allows brief bug case change changed changes criteria criterion definition description ' +
    'expected feature idea implement implementation improve improvement issue objective open problem question questions ' +
    'requirement requirements scenario scenarios scope story support supported supports task test tests ticket todo update ' +
    'user users work works http https www com'
  ).split(' '),
);

/** A word of a text, in the form in which two texts are compared. */
interface Term {
  /** As written, for messages. */
  written: string;
  /** Paths and identifiers say more than words: two texts that name the same one speak of the same thing. */
  weight: number;
}

/**
 * Shared terms weighted by rarity (the Tversky index over inverse document frequencies): no model, no network, and the
 * same answer every time. The most alike comes first; an issue and its design are one.
 */
export function findDuplicates(brief: { title: string; body: string }, known: readonly KnownWork[]): Duplicate[] {
  const wanted = termsOf(brief.title, brief.body);
  const works = known.map((work) => ({ work, terms: termsOf(work.title, work.text) }));
  const frequency = new Map<string, number>();
  for (const { terms } of works) for (const key of terms.keys()) frequency.set(key, (frequency.get(key) ?? 0) + 1);
  const valueOf = (key: string, { weight }: Term): number =>
    weight * (1 + Math.log((works.length + 1) / ((frequency.get(key) ?? 0) + 1)));
  const sumOf = (terms: Map<string, Term>): number =>
    [...terms].reduce((sum, [key, term]) => sum + valueOf(key, term), 0);
  const wantedSum = sumOf(wanted);
  const designed = new Set(known.filter(({ kind }) => kind === 'lld').map(({ id }) => id));

  const found = new Map<string, Duplicate>();
  for (const { work, terms } of works) {
    const shared = new Map([...wanted].filter(([key]) => terms.has(key)));
    if (shared.size < FEWEST_SHARED) continue;
    const common = sumOf(shared);
    const extra = Math.max(0, sumOf(terms) - common);
    const score = common / (common + MISSING_WEIGHT * (wantedSum - common) + EXTRA_WEIGHT * extra);
    if (score < WORTH_SHOWING || score <= (found.get(work.id)?.score ?? 0)) continue;
    const telling = [...shared].toSorted((a, b) => valueOf(...b) - valueOf(...a)).slice(0, MOST_TERMS_SHOWN);
    found.set(work.id, {
      id: work.id,
      title: work.title,
      designed: designed.has(work.id),
      score: Math.round(score * 100) / 100,
      shared: telling.map(([, { written }]) => written),
    });
  }
  const byId = new Intl.Collator('en', { numeric: true });
  return [...found.values()].toSorted((a, b) => b.score - a.score || byId.compare(a.id, b.id)).slice(0, MOST_SHOWN);
}

/** The terms of a text, each once: words, and names with the words that they are made of. */
function termsOf(title: string, text: string): Map<string, Term> {
  const terms = new Map<string, Term>();
  const add = (key: string, term: Term): void => {
    if (!terms.has(key)) terms.set(key, term);
  };
  const addWord = (word: string, weight: number): void => {
    const lower = word.toLowerCase();
    if (lower.length < SHORTEST || isCommon(lower) || OF_ISSUES.has(lower) || /^\d+$/.test(lower)) return;
    add(stem(lower), { written: lower, weight });
  };
  for (const [part, factor] of [
    [title, TITLE_WEIGHT],
    [text.slice(0, MOST_CHARS), 1],
  ] as const) {
    for (const [token] of part.matchAll(TOKEN)) {
      if (token.length < SHORTEST || token.length > LONGEST) continue;
      const isCode = IS_CODE.test(token);
      if (isCode) add(`#${token.toLowerCase()}`, { written: token, weight: CODE_WEIGHT * factor });
      for (const word of token.match(isCode ? PART : WORD) ?? []) addWord(word, (isCode ? PART_WEIGHT : 1) * factor);
    }
  }
  return terms;
}

/** One line for people: `42 (0.71): Retry on quota; shares: retry, quota, backoff`. */
export function describeDuplicate({ id, score, title, shared, designed }: Duplicate): string {
  const design = designed ? ', which has an approved LLD' : '';
  return `${id} (${score.toFixed(2)}): ${title}${design}; shares: ${shared.join(', ')}`;
}
