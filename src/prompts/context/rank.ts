import type { BlobFacts } from './blob-facts.ts';
import { isGeneratedPath, isTestPath, subjectOf } from './file-kind.ts';
import type { PastCommit } from './history.ts';
import { importResolver } from './imports.ts';
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

/** How much each sign counts; every one of them is between 0 and 1 over the files of a repository. */
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
  { query, named, history }: { query: Query; named: readonly string[]; history: readonly PastCommit[] },
): RankedFile[] {
  const places = new Map(files.map(({ path }, place) => [path, place]));
  const past = history.map(({ message, paths }) => ({
    message,
    places: paths.flatMap((path) => places.get(path) ?? []),
  }));
  const signs = {
    content: contentSign(files, query),
    path: pathSign(files, query),
    messages: messagesSign(files.length, past, query),
    frequency: frequencySign(files.length, past),
  };
  const isNamed = new Set(named);
  const penalty = files.map(
    ({ path, facts }) =>
      (facts.isGenerated || isGeneratedPath(path) ? WEIGHTS.generated : 1) * (isTestPath(path) ? WEIGHTS.test : 1),
  );
  const first = files.map(
    ({ path }, place) =>
      (penalty[place] ?? 1) *
      (WEIGHTS.content * (signs.content[place] ?? 0) +
        WEIGHTS.path * (signs.path[place] ?? 0) +
        WEIGHTS.messages * (signs.messages[place] ?? 0) +
        WEIGHTS.frequency * (signs.frequency[place] ?? 0) +
        (isNamed.has(path) ? WEIGHTS.named : 0)),
  );
  const seeds = first
    .map((score, place) => ({ place, score }))
    .sort((a, b) => b.score - a.score || a.place - b.place)
    .slice(0, WEIGHTS.seeds);
  const near = {
    together: togetherSign(files.length, past, seeds),
    imports: importsSign(files, seeds),
    subject: subjectSign(files, seeds),
  };
  return files
    .map(({ path }, place) => {
      const parts = {
        named: isNamed.has(path) ? WEIGHTS.named : 0,
        content: WEIGHTS.content * (signs.content[place] ?? 0),
        path: WEIGHTS.path * (signs.path[place] ?? 0),
        messages: WEIGHTS.messages * (signs.messages[place] ?? 0),
        frequency: WEIGHTS.frequency * (signs.frequency[place] ?? 0),
        together: WEIGHTS.together * (near.together[place] ?? 0),
        imports: WEIGHTS.imports * (near.imports[place] ?? 0),
        subject: WEIGHTS.subject * (near.subject[place] ?? 0),
      };
      const sum = Object.values(parts).reduce((total, value) => total + value, 0);
      return { path, score: sum * (penalty[place] ?? 1), why: reasonOf(parts) };
    })
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

/** The strongest sign, and a second one that is nearly as strong. */
function reasonOf(parts: Record<keyof typeof REASONS, number>): string {
  const [first, second] = (Object.keys(REASONS) as (keyof typeof REASONS)[]).sort((a, b) => parts[b] - parts[a]);
  if (first === undefined || second === undefined) return '';
  return parts[second] > parts[first] * 0.6 ? `${REASONS[first]}; ${REASONS[second]}` : REASONS[first];
}

function scaled(sign: Sign): Sign {
  const most = sign.reduce((max, value) => Math.max(max, value), 0);
  return most === 0 ? sign : sign.map((value) => value / most);
}

export function idf(count: number, documents: number): number {
  return Math.log(1 + (documents - count + 0.5) / (count + 0.5));
}

/** What each word of the text is worth, by how few files have it. */
export function termValues(files: readonly IndexedFile[], query: Query): ReadonlyMap<number, number> {
  const documents = new Map<number, number>();
  for (const { facts } of files) {
    for (const term of facts.terms) if (query.weights.has(term)) documents.set(term, (documents.get(term) ?? 0) + 1);
  }
  return new Map(
    [...documents].map(([term, count]) => [term, (query.weights.get(term) ?? 0) * idf(count, files.length)]),
  );
}

function contentSign(files: readonly IndexedFile[], query: Query): Sign {
  const { k1, b } = WEIGHTS;
  const terms = [...query.weights.keys()];
  const number = new Map(terms.map((term, at) => [term, at]));
  const bits = new Uint8Array(1 << 16);
  for (const term of terms) bits[term & 0xffff] = 1;
  const found: [number, number][][] = [];
  const documents = new Float64Array(terms.length);
  const lengths = new Float64Array(files.length);
  let total = 0;
  files.forEach(({ facts }, place) => {
    const hits: [number, number][] = [];
    let length = 0;
    const { terms: own, counts } = facts;
    for (let at = 0; at < own.length; at++) {
      const count = counts[at] as number;
      length += count;
      const term = own[at] as number;
      if (bits[term & 0xffff] === 0) continue;
      const known = number.get(term);
      if (known === undefined) continue;
      hits.push([known, count]);
      documents[known] = (documents[known] ?? 0) + 1;
    }
    found.push(hits);
    lengths[place] = length;
    total += length;
  });
  const average = total / Math.max(1, files.length) || 1;
  const value = terms.map((term, at) => (query.weights.get(term) ?? 0) * idf(documents[at] ?? 0, files.length));
  const sign = new Float64Array(files.length);
  found.forEach((hits, place) => {
    const norm = k1 * (1 - b + (b * (lengths[place] ?? 0)) / average);
    let sum = 0;
    for (const [term, count] of hits) sum += (value[term] ?? 0) * ((count * (k1 + 1)) / (count + norm));
    sign[place] = sum;
  });
  return scaled(sign);
}

function pathSign(files: readonly IndexedFile[], query: Query): Sign {
  const own = files.map(({ path }) => new Set(termsOf(path).filter((term) => query.weights.has(term))));
  const documents = new Map<number, number>();
  for (const terms of own) for (const term of terms) documents.set(term, (documents.get(term) ?? 0) + 1);
  const sign = new Float64Array(files.length);
  own.forEach((terms, place) => {
    if (terms.size === 0) return;
    const path = files[place]?.path ?? '';
    const name = new Set(termsOf(path.slice(path.lastIndexOf('/') + 1)));
    for (const term of terms) {
      const value = (query.weights.get(term) ?? 0) * idf(documents.get(term) ?? 0, files.length);
      sign[place] = (sign[place] ?? 0) + value * (name.has(term) ? 1 : 0.5);
    }
  });
  return scaled(sign);
}

interface PastChange {
  message: string;
  places: readonly number[];
}

/** Files that commits with a message like the issue changed. */
function messagesSign(size: number, past: readonly PastChange[], query: Query): Sign {
  const own = past.map(({ message }) => new Set(termsOf(message).filter((term) => query.weights.has(term))));
  const documents = new Map<number, number>();
  for (const terms of own) for (const term of terms) documents.set(term, (documents.get(term) ?? 0) + 1);
  const scores = own.map((terms, at) => {
    let sum = 0;
    for (const term of terms) sum += (query.weights.get(term) ?? 0) * idf(documents.get(term) ?? 0, past.length);
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

/** A module's tests, its header, its documentation: files with the same name. */
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
