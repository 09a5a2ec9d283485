import { contentWords, stem } from '../markdown/words.ts';

/** An existing issue, or its approved design. */
export interface KnownWork {
  id: string;
  kind: 'issue' | 'lld';
  title: string;
  text: string;
}

/** Existing work that resembles a brief. */
export interface Duplicate {
  id: string;
  title: string;
  /** It has an approved design. */
  designed: boolean;
  /** From 0 to 1; the same text has 1. */
  score: number;
  /** Words of both, the rarest first. */
  shared: string[];
}

/** Below it, two texts share words only by chance. */
const WORTH_SHOWING = 0.3;
/** From here on the reviewer has to say whether it is a duplicate. */
export const LIKELY_DUPLICATE = 0.6;
const MOST_SHOWN = 3;
const MOST_WORDS_SHOWN = 6;
const FEWEST_SHARED = 2;
const TITLE_WEIGHT = 2;
/** The beginning says what a text is about. */
const MOST_CHARS = 4_000;
/**
 * A brief has a few lines and an issue a few pages. Words that only the brief has tell them apart; words that only the issue
 * has mean little.
 */
const MISSING_WEIGHT = 0.7;
const EXTRA_WEIGHT = 0.06;

/** Words that every issue has. */
const OF_ISSUES = contentWords(
  'acceptance add allow brief bug case change criteria criterion definition description expected feature idea implement ' +
    'implementation improve improvement issue objective open problem question requirement scenario scope story support task ' +
    'test ticket todo update user work http https www com',
);

/**
 * Compares shared words weighted by rarity (the Tversky index over inverse document frequencies), so it is deterministic and
 * needs no model. The most similar work comes first; an issue and its design count as one.
 */
export function findDuplicates(brief: { title: string; body: string }, known: readonly KnownWork[]): Duplicate[] {
  const wanted = weightsOf(brief.title, brief.body);
  const works = known.map((work) => ({ work, words: weightsOf(work.title, work.text) }));
  const frequency = new Map<string, number>();
  for (const { words } of works) for (const word of words.keys()) frequency.set(word, (frequency.get(word) ?? 0) + 1);
  const valueOf = ([word, weight]: [string, number]): number =>
    weight * (1 + Math.log((works.length + 1) / ((frequency.get(word) ?? 0) + 1)));
  const sumOf = (words: Iterable<[string, number]>): number => [...words].reduce((sum, word) => sum + valueOf(word), 0);
  const wantedSum = sumOf(wanted);
  const said = `${brief.title} ${brief.body}`.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? [];
  const written = new Map(said.toReversed().map((word) => [stem(word), word]));
  const designed = new Set(known.filter(({ kind }) => kind === 'lld').map(({ id }) => id));

  const found = new Map<string, Duplicate>();
  for (const { work, words } of works) {
    const shared = [...wanted].filter(([word]) => words.has(word));
    const common = sumOf(shared);
    const extra = Math.max(0, sumOf(words) - common);
    const score = common / (common + MISSING_WEIGHT * (wantedSum - common) + EXTRA_WEIGHT * extra);
    const isWorse = score <= (found.get(work.id)?.score ?? 0);
    if (shared.length < FEWEST_SHARED || score < WORTH_SHOWING || isWorse) continue;
    const telling = shared.toSorted((a, b) => valueOf(b) - valueOf(a)).slice(0, MOST_WORDS_SHOWN);
    found.set(work.id, {
      id: work.id,
      title: work.title,
      designed: designed.has(work.id),
      score: Math.round(score * 100) / 100,
      shared: telling.map(([word]) => written.get(word) ?? word),
    });
  }
  const byId = new Intl.Collator('en', { numeric: true });
  return [...found.values()].toSorted((a, b) => b.score - a.score || byId.compare(a.id, b.id)).slice(0, MOST_SHOWN);
}

/** The characteristic words of a text; those of the title have more weight. */
function weightsOf(title: string, text: string): Map<string, number> {
  const telling = (words: Set<string>) => [...words].filter((word) => !OF_ISSUES.has(word) && /\p{L}{2}/u.test(word));
  return new Map([
    ...telling(contentWords(text.slice(0, MOST_CHARS))).map((word): [string, number] => [word, 1]),
    ...telling(contentWords(title)).map((word): [string, number] => [word, TITLE_WEIGHT]),
  ]);
}

/** One line for people: `42 (0.71): Retry on quota; shares: retry, quota, backoff`. */
export function describeDuplicate({ id, score, title, shared, designed }: Duplicate): string {
  const design = designed ? ', which has an approved LLD' : '';
  return `${id} (${score.toFixed(2)}): ${title}${design}; shares: ${shared.join(', ')}`;
}
