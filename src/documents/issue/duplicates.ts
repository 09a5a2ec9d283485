import { eachToken, type Term, termsOfToken } from './terms.ts';

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

/** The terms of a text, each once, with its weight in that text. */
interface Terms {
  numbers: number[];
  weights: number[];
}

interface TermTable {
  read(title: string, text: string): Terms;
  written(term: number): string;
  /** How many terms there are by now. */
  size(): number;
}

/**
 * Shared terms weighted by rarity (the Tversky index over inverse document frequencies): no model, no network, and the
 * same answer every time. The most alike comes first; an issue and its design are one.
 */
export function findDuplicates(brief: { title: string; body: string }, known: readonly KnownWork[]): Duplicate[] {
  const table = createTermTable();
  const wanted = table.read(brief.title, brief.body);
  const works = known.map((work) => ({ work, terms: table.read(work.title, work.text) }));
  const rarity = rarities(
    works.map(({ terms }) => terms),
    table.size(),
  );
  const value = new Float64Array(table.size());
  for (const [at, term] of wanted.numbers.entries()) value[term] = (wanted.weights[at] ?? 0) * (rarity[term] ?? 0);
  const wantedWeight = weightOf(wanted, rarity);
  const designed = new Set(known.filter(({ kind }) => kind === 'lld').map(({ id }) => id));

  const found = new Map<string, Duplicate>();
  for (const { work, terms } of works) {
    const valueOf = (term: number): number => value[term] ?? 0;
    const shared = terms.numbers.filter((term) => valueOf(term) > 0);
    if (shared.length < FEWEST_SHARED) continue;
    const common = shared.reduce((sum, term) => sum + valueOf(term), 0);
    const extra = Math.max(0, weightOf(terms, rarity) - common);
    const score = common / (common + MISSING_WEIGHT * (wantedWeight - common) + EXTRA_WEIGHT * extra);
    if (score < WORTH_SHOWING || score <= (found.get(work.id)?.score ?? 0)) continue;
    const telling = shared.toSorted((a, b) => valueOf(b) - valueOf(a) || a - b).slice(0, MOST_TERMS_SHOWN);
    found.set(work.id, {
      id: work.id,
      title: work.title,
      designed: designed.has(work.id),
      score: Math.round(score * 100) / 100,
      shared: telling.map((term) => table.written(term)),
    });
  }
  return [...found.values()].toSorted((a, b) => b.score - a.score || compareIds(a.id, b.id)).slice(0, MOST_SHOWN);
}

function compareIds(a: string, b: string): number {
  return a.localeCompare(b, 'en', { numeric: true });
}

/** By term: 1 for one that every text has, more for each that only a few have. */
function rarities(texts: readonly Terms[], size: number): Float64Array {
  const frequency = new Float64Array(size);
  for (const { numbers } of texts) for (const term of numbers) frequency[term] = (frequency[term] ?? 0) + 1;
  return frequency.map((count) => 1 + Math.log((texts.length + 1) / (count + 1)));
}

function weightOf({ numbers, weights }: Terms, rarity: Float64Array): number {
  let sum = 0;
  for (const [at, term] of numbers.entries()) sum += (weights[at] ?? 0) * (rarity[term] ?? 0);
  return sum;
}

/** Ten thousand issues have the same few thousand words: each is taken apart once. */
function createTermTable(): TermTable {
  const byKey = new Map<string, number>();
  const byToken = new Map<string, readonly [term: number, weight: number][]>();
  const words: string[] = [];
  /** By term: the last text that had it, so that no text needs a set of its own. */
  const lastIn: number[] = [];
  let texts = 0;
  const numberOf = ({ key, written }: Term): number => {
    const known = byKey.get(key);
    if (known !== undefined) return known;
    byKey.set(key, words.length);
    return words.push(written) - 1;
  };
  const entriesOf = (token: string): readonly [term: number, weight: number][] => {
    const known = byToken.get(token);
    if (known) return known;
    const entries = termsOfToken(token).map((term): [number, number] => [numberOf(term), term.weight]);
    byToken.set(token, entries);
    return entries;
  };
  return {
    read(title, text) {
      const terms: Terms = { numbers: [], weights: [] };
      texts += 1;
      const take = (token: string, factor: number): void => {
        for (const [term, weight] of entriesOf(token)) {
          if (lastIn[term] === texts) continue;
          lastIn[term] = texts;
          terms.numbers.push(term);
          terms.weights.push(weight * factor);
        }
      };
      eachToken(title, (token) => take(token, TITLE_WEIGHT));
      eachToken(text.slice(0, MOST_CHARS), (token) => take(token, 1));
      return terms;
    },
    written: (term) => words[term] ?? '',
    size: () => words.length,
  };
}

/** One line for people: `42 (0.71): Retry on quota; shares: retry, quota, backoff`. */
export function describeDuplicate({ id, score, title, shared, designed }: Duplicate): string {
  const design = designed ? ', which has an approved LLD' : '';
  return `${id} (${score.toFixed(2)}): ${title}${design}; shares: ${shared.join(', ')}`;
}
