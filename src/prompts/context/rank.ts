import { type BlobFacts, importResolver, isGeneratedPath, isTestPath, subjectOf } from './file-facts.ts';
import type { PastCommit } from './git-objects.ts';
import type { Query } from './query.ts';
import { termsOf } from './terms.ts';

export interface IndexedFile {
  path: string;
  facts: BlobFacts;
}

export interface RankedFile {
  path: string;
  score: number;
  why: string;
}

/** The weight of each sign; the signs of a file are between 0 and 1. */
const WEIGHTS = {
  content: 1,
  path: 0.7,
  messages: 0.9,
  frequency: 0.35,
  together: 0.6,
  imports: 0.25,
  subject: 0.5,
  named: 2,
  test: 0.9,
  generated: 0.25,
  decay: 200,
  seeds: 12,
  k1: 1.2,
  b: 0.5,
  nearest: 40,
};

/** A sign per file, scaled so that the strongest is 1. */
type Sign = Float64Array;

export function rankFiles(
  files: readonly IndexedFile[],
  {
    query,
    values,
    named,
    history,
  }: {
    query: Query;
    /** See `termValues`. */
    values: ReadonlyMap<number, number>;
    named: readonly string[];
    history: readonly PastCommit[];
  },
): RankedFile[] {
  const places = new Map(files.map(({ path }, place) => [path, place]));
  const past = history.map(({ message, paths }) => ({
    message,
    places: paths.flatMap((path) => places.get(path) ?? []),
  }));
  const isNamed = new Set(named);
  const signs: Partial<Record<Part, Sign>> = {
    named: Float64Array.from(files, ({ path }) => (isNamed.has(path) ? 1 : 0)),
    content: contentSign(files, values),
    path: pathSign(files, query),
    messages: messagesSign(files.length, past, query),
    frequency: frequencySign(files.length, past),
  };
  const partsOf = (place: number): [Part, number][] =>
    PARTS.map((part) => [part, WEIGHTS[part] * (signs[part]?.[place] ?? 0)]);
  const scoreOf = ({ path, facts }: IndexedFile, place: number): number => {
    const isGenerated = facts.isGenerated || isGeneratedPath(path);
    const penalty = (isGenerated ? WEIGHTS.generated : 1) * (isTestPath(path) ? WEIGHTS.test : 1);
    return penalty * partsOf(place).reduce((sum, [, value]) => sum + value, 0);
  };
  const seeds = files
    .map((file, place) => ({ place, score: scoreOf(file, place) }))
    .sort((a, b) => b.score - a.score || a.place - b.place)
    .slice(0, WEIGHTS.seeds);
  signs.together = togetherSign(files.length, past, seeds);
  signs.imports = importsSign(files, seeds);
  signs.subject = subjectSign(files, seeds);
  return files
    .map((file, place) => ({ path: file.path, score: scoreOf(file, place), why: reasonOf(partsOf(place)) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score || (a.path < b.path ? -1 : 1));
}

const REASONS = {
  named: 'named in the text',
  content: 'words of the text',
  path: 'words in its path',
  messages: 'past commits',
  frequency: 'changes often',
  together: 'changed with others here',
  imports: 'imports',
  subject: 'same name',
};

type Part = keyof typeof REASONS;
const PARTS = Object.keys(REASONS) as Part[];

/** The strongest sign, and a second one that is nearly as strong. */
function reasonOf(parts: readonly [Part, number][]): string {
  const [first, second] = parts.toSorted(([, a], [, b]) => b - a);
  if (first === undefined || second === undefined) return '';
  return second[1] > first[1] * 0.6 ? `${REASONS[first[0]]}; ${REASONS[second[0]]}` : REASONS[first[0]];
}

function scaled(sign: Sign): Sign {
  const most = sign.reduce((max, value) => Math.max(max, value), 0);
  return most === 0 ? sign : sign.map((value) => value / most);
}

function idf(count: number, documents: number): number {
  return Math.log(1 + (documents - count + 0.5) / (count + 0.5));
}

/** The value of each term of the issue: the fewer documents have it, the higher. */
function valuesOf(documents: readonly Iterable<number>[], query: Query): Map<number, number> {
  const counts = new Map<number, number>();
  for (const terms of documents)
    for (const term of terms) if (query.has(term)) counts.set(term, (counts.get(term) ?? 0) + 1);
  return new Map([...counts].map(([term, count]) => [term, (query.get(term) ?? 0) * idf(count, documents.length)]));
}

export function termValues(files: readonly IndexedFile[], query: Query): ReadonlyMap<number, number> {
  return valuesOf(
    files.map(({ facts }) => facts.terms),
    query,
  );
}

/** BM25. */
function contentSign(files: readonly IndexedFile[], values: ReadonlyMap<number, number>): Sign {
  const { k1, b } = WEIGHTS;
  const lengths = files.map(({ facts }) => facts.counts.reduce((sum, count) => sum + count, 0));
  const average = lengths.reduce((sum, length) => sum + length, 0) / Math.max(1, files.length) || 1;
  const sign = Float64Array.from(files, ({ facts: { terms, counts } }, place) => {
    const norm = k1 * (1 - b + (b * (lengths[place] ?? 0)) / average);
    let sum = 0;
    for (let at = 0; at < terms.length; at++) {
      const value = values.get(terms[at] ?? 0);
      const count = counts[at] ?? 0;
      if (value !== undefined) sum += value * ((count * (k1 + 1)) / (count + norm));
    }
    return sum;
  });
  return scaled(sign);
}

function pathSign(files: readonly IndexedFile[], query: Query): Sign {
  const own = files.map(({ path }) => new Set(termsOf(path)));
  const values = valuesOf(own, query);
  const sign = new Float64Array(files.length);
  own.forEach((terms, place) => {
    const path = files[place]?.path ?? '';
    const known = [...terms].filter((term) => values.has(term));
    if (known.length === 0) return;
    const name = new Set(termsOf(path.slice(path.lastIndexOf('/') + 1)));
    sign[place] = known.reduce((sum, term) => sum + (values.get(term) ?? 0) * (name.has(term) ? 1 : 0.5), 0);
  });
  return scaled(sign);
}

interface PastChange {
  message: string;
  places: readonly number[];
}

/** Files of commits with a message like the issue. */
function messagesSign(size: number, past: readonly PastChange[], query: Query): Sign {
  const own = past.map(({ message }) => new Set(termsOf(message)));
  const values = valuesOf(own, query);
  const scores = own.map((terms, at) => {
    let sum = 0;
    for (const term of terms) sum += values.get(term) ?? 0;
    return { at, score: sum / (1 + at / 4000) };
  });
  const best = scores.sort((a, b) => b.score - a.score || a.at - b.at).slice(0, WEIGHTS.nearest);
  const most = best[0]?.score ?? 0;
  const sign = new Float64Array(size);
  for (const { at, score } of best) {
    const { places } = past[at] ?? { places: [] };
    if (score === 0 || places.length === 0) continue;
    const value = (score / most) ** 2 / Math.sqrt(places.length);
    for (const place of places) sign[place] = (sign[place] ?? 0) + value;
  }
  return scaled(sign);
}

function frequencySign(size: number, past: readonly PastChange[]): Sign {
  const sign = new Float64Array(size);
  past.forEach(({ places }, age) => {
    for (const place of places)
      sign[place] = (sign[place] ?? 0) + Math.exp(-age / WEIGHTS.decay) / Math.sqrt(places.length);
  });
  return scaled(sign.map(Math.sqrt));
}

interface Seed {
  place: number;
  score: number;
}

/** Files that changed in the same commits as the seeds. */
function togetherSign(size: number, past: readonly PastChange[], seeds: readonly Seed[]): Sign {
  const weightOf = new Map(seeds.map(({ place, score }) => [place, score]));
  const changes = new Map<number, number>();
  const sign = new Float64Array(size);
  for (const { places } of past) {
    for (const place of places) if (weightOf.has(place)) changes.set(place, (changes.get(place) ?? 0) + 1);
  }
  for (const { places } of past) {
    for (const seed of places) {
      const score = weightOf.get(seed);
      if (score === undefined) continue;
      const value = score / ((changes.get(seed) ?? 0) + 3) / Math.sqrt(places.length);
      for (const place of places) if (place !== seed) sign[place] = (sign[place] ?? 0) + value;
    }
  }
  return scaled(sign);
}

function importsSign(files: readonly IndexedFile[], seeds: readonly Seed[]): Sign {
  const resolve = importResolver(files.map(({ path }) => path));
  const sign = new Float64Array(files.length);
  const weightOf = new Map(seeds.map(({ place, score }) => [place, score]));
  files.forEach(({ path, facts }, place) => {
    const own = weightOf.get(place);
    for (const name of facts.imports) {
      const target = resolve(path, name);
      if (target === null || target === place) continue;
      const importer = weightOf.get(target);
      if (own !== undefined) sign[target] = (sign[target] ?? 0) + own;
      if (importer !== undefined) sign[place] = (sign[place] ?? 0) + importer * 0.5;
    }
  });
  return scaled(sign);
}

/** Files with the same name: a module's tests, its header, its documentation. */
function subjectSign(files: readonly IndexedFile[], seeds: readonly Seed[]): Sign {
  const bySubject = new Map<string, number>();
  for (const { place, score } of seeds) {
    const subject = subjectOf(files[place]?.path ?? '');
    bySubject.set(subject, Math.max(score, bySubject.get(subject) ?? 0));
  }
  const own = new Set(seeds.map(({ place }) => place));
  const sign = new Float64Array(files.length);
  files.forEach(({ path }, place) => {
    const score = bySubject.get(subjectOf(path)) ?? 0;
    sign[place] = own.has(place) ? score * 0.5 : score;
  });
  return scaled(sign);
}

const MOST_TESTS = 20;
/** A test that changed this often with a file belongs to it. */
const LEAST_TOGETHER = 2;

/** The tests of these files: they import one of them, have its name, or changed with it. The most certain first. */
export function testsOf(
  files: readonly IndexedFile[],
  changed: readonly string[],
  history: readonly PastCommit[],
): string[] {
  const wanted = new Set(changed);
  const subjects = new Set(changed.map(subjectOf));
  const paths = files.map(({ path }) => path);
  const resolve = importResolver(paths);
  const together = new Map<string, number>();
  for (const { paths: touched } of history) {
    if (!touched.some((path) => wanted.has(path))) continue;
    for (const path of touched) together.set(path, (together.get(path) ?? 0) + 1);
  }
  return files
    .filter(({ path }) => isTestPath(path))
    .map(({ path, facts }) => {
      const imports = facts.imports.some((name) => wanted.has(paths[resolve(path, name) ?? -1] ?? ''));
      const times = together.get(path) ?? 0;
      const isNear = wanted.has(path) || subjects.has(subjectOf(path)) || imports;
      return { path, value: (isNear ? 100 : 0) + (isNear || times >= LEAST_TOGETHER ? times : 0) };
    })
    .filter(({ value }) => value > 0)
    .sort((a, b) => b.value - a.value || (a.path < b.path ? -1 : 1))
    .slice(0, MOST_TESTS)
    .map(({ path }) => path);
}
