import { appendFile, readFile, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { sha256 } from '../core/hash.ts';
import { type DesignFacts, designFacts } from '../documents/lld/document.ts';
import { makeFolder, writeFileAtomic } from '../process/files.ts';

declare const AGENTOS_VERSION: string | undefined;

/** Another version may read something else out of the same text. */
const READER = typeof AGENTOS_VERSION === 'string' ? AGENTOS_VERSION : 'source';
/** A file that has grown beyond this is begun again with what is in use. */
const MOST_BYTES = 32_000_000;

/**
 * What planning needs of designs, by the hash of their bytes: parsing one takes milliseconds, and a plan may be about ten
 * thousand. A file of JSON lines, each read by itself: one that is torn or wrong is as good as absent, and the design is
 * parsed. Whether a design is approved is not in it: programs that items run can write to the folder of caches.
 */
export interface DesignCache {
  factsOf(text: string): Promise<DesignFacts>;
  /** Stores what had to be parsed. Without it nothing is written. */
  save(): Promise<void>;
}

/** Nothing is read before the first design is asked about. */
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

/** The line break comes first: what is left of a write that was cut off spoils no entry but its own. */
function lineOf(hash: string, facts: DesignFacts): string {
  return `\n${JSON.stringify({ hash, reader: READER, ...facts })}`;
}

function entriesIn(text: string): Map<string, DesignFacts> {
  const entries = new Map<string, DesignFacts>();
  for (const line of text.split('\n')) {
    const { hash, reader, title, files, after, declares, adds, uses } = parsedLine(line);
    if (reader !== READER || typeof hash !== 'string' || typeof title !== 'string') continue;
    if (isTexts(files) && isTexts(after) && isTexts(declares) && isTexts(adds) && isTexts(uses))
      entries.set(hash, { title, files, after, declares, adds, uses });
  }
  return entries;
}

function parsedLine(line: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}
