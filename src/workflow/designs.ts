import { appendFile, readFile, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { describeForecast, type ForecastDesign, forecastOf } from '../core/forecast.ts';
import { sha256 } from '../core/hash.ts';
import { fieldsOf, parseJson } from '../core/json.ts';
import type { Paths } from '../core/paths.ts';
import { isApproved, readHeader } from '../documents/header.ts';
import { type DesignFacts, designFacts } from '../documents/lld/document.ts';
import type { BaseCommit } from '../git/repository.ts';
import { makeFolder, writeFileAtomic } from '../process/files.ts';
import { tagged } from '../prompts/tags.ts';
import { designIds, readLldText } from './approved-lld.ts';

/** Of a longer backlog, those with the highest numbers. */
const MOST_DESIGNS = 200;

/**
 * The other designs that are approved and whose code is not in the base yet. The result is stored when the item starts, so
 * that a resumed item asks the same questions although designs come and go.
 */
export async function otherDesigns(
  paths: Paths,
  ownId: string,
  openBase: () => Promise<Pick<BaseCommit, 'kindOf'>>,
): Promise<ForecastDesign[]> {
  const others = designIds(paths).filter((id) => id !== ownId);
  if (others.length === 0) return [];
  const base = await openBase();
  const ids = others.filter((id) => base.kindOf(paths.report(id)) === null);
  const cache = createDesignCache(paths.designs);
  const designs: ForecastDesign[] = [];
  for (const id of ids.slice(-MOST_DESIGNS)) {
    const text = readLldText(paths.lld(id)) ?? '';
    if (isApproved(readHeader(text))) designs.push(asForecast(id, await cache.factsOf(text)));
  }
  return designs;
}

function asForecast(id: string, { files, after, declares, adds, uses }: DesignFacts): ForecastDesign {
  return { id, files, after, declares, adds, uses };
}

const FORECAST = `Other designs are approved and not built yet. Those that touch the same code, by what the designs say:`;
const JUDGE_IT =
  'Raise a finding only where both can not stand, where one does again what the other does, or where the order matters and "Depends on" does not say it.';

/** For a reviewer; empty if no other design touches this one. */
export function forecastFor(id: string, lld: string, others: readonly ForecastDesign[]): string {
  const own = asForecast(id, designFacts(lld));
  const found = others.length === 0 ? [] : (forecastOf([own, ...others]).get(id) ?? []);
  return found.length === 0 ? '' : tagged('other-designs', `${FORECAST}\n\n${describeForecast(found)}\n\n${JUDGE_IT}`);
}

declare const AGENTOS_VERSION: string | undefined;

/** Another version of the program may read the same text differently. */
const READER = typeof AGENTOS_VERSION === 'string' ? AGENTOS_VERSION : 'source';
/** A file that is longer is written again with the designs in use. */
const MOST_BYTES = 32_000_000;

/**
 * What planning needs of designs, by the hash of their text: parsing one takes milliseconds, and a plan may have ten thousand.
 * A file of JSON lines; a torn or wrong line is ignored, and its design is parsed. It does not say whether a design is
 * approved, because programs of items can write to the folder of caches.
 */
export interface DesignCache {
  factsOf(text: string): Promise<DesignFacts>;
  /** Stores what had to be parsed; nothing is written before. */
  save(): Promise<void>;
}

/** The file is read on first use. */
export function createDesignCache(file: string): DesignCache {
  const parsed = new Map<string, DesignFacts>();
  let known: Promise<Map<string, DesignFacts>> | null = null;
  return {
    async factsOf(text) {
      known ??= entriesOf(file);
      const hash = sha256(text);
      const stored = (await known).get(hash);
      if (stored !== undefined) return stored;
      const facts = parsed.get(hash) ?? designFacts(text);
      parsed.set(hash, facts);
      return facts;
    },
    async save() {
      const lines = [...parsed].map(([hash, facts]) => lineOf(hash, facts)).join('');
      if (lines === '') return;
      const write = (await isTooLong(file)) ? writeFileAtomic : append;
      await write(file, lines).catch(() => undefined);
    },
  };
}

async function isTooLong(file: string): Promise<boolean> {
  const found = await stat(file).catch(() => null);
  return (found?.size ?? 0) > MOST_BYTES;
}

async function entriesOf(file: string): Promise<Map<string, DesignFacts>> {
  return entriesIn((await isTooLong(file)) ? '' : await readFile(file, 'utf8').catch(() => ''));
}

/** For a design that was just approved, so that the next plan finds it. */
export async function rememberDesign(file: string, text: string): Promise<void> {
  await append(file, lineOf(sha256(text), designFacts(text))).catch(() => undefined);
}

async function append(file: string, lines: string): Promise<void> {
  await makeFolder(dirname(file));
  await appendFile(file, lines);
}

/** The line break comes first, so that a write that was cut off spoils no other entry. */
function lineOf(hash: string, facts: DesignFacts): string {
  return `\n${JSON.stringify({ hash, reader: READER, ...facts })}`;
}

function entriesIn(text: string): Map<string, DesignFacts> {
  const entries = new Map<string, DesignFacts>();
  for (const line of text.split('\n')) {
    const { hash, reader, title, files, after, declares, adds, uses } = fieldsOf(parseJson(line));
    if (reader !== READER || typeof hash !== 'string' || typeof title !== 'string') continue;
    if (isTexts(files) && isTexts(after) && isTexts(declares) && isTexts(adds) && isTexts(uses))
      entries.set(hash, { title, files, after, declares, adds, uses });
  }
  return entries;
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}
