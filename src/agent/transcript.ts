import { createWriteStream, mkdirSync, readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { constants, createGzip, gunzip } from 'node:zlib';
import { type Fields, fieldsOf, parseJson } from '../core/json.ts';

/** One call of an agent as lines of JSON: the events of its program, and a few of our own. */
export interface Transcript {
  /** An event of the program. */
  add(line: string): void;
  note(event: TranscriptNote): void;
  close(): Promise<void>;
}

/** Our own events. */
type TranscriptNote =
  | { type: 'agentos-start'; step: string; agent: string; at: string }
  /** A line of the program that is not an event. */
  | { type: 'agentos-line'; stream: 'stdout' | 'stderr'; text: string }
  /** A round of the built-in agent, and the result of a tool. */
  | { type: 'agentos-answer'; round: number; text: string; calls: { name: string; input: string }[] }
  | { type: 'agentos-result'; name: string; ok: boolean; text: string }
  | { type: 'agentos-end'; exitCode: number | null; signal: string | null };

export type OpenTranscript = (about: { step: string; agent: string }) => Transcript;

/** The longest transcript of one call, before it is compressed. */
const MOST_CHARS = 64 * 1024 * 1024;
/** A killed worker may lose this much. */
const FLUSH_MS = 1_000;
const SUFFIX = '.jsonl.gz';

/** Transcripts of an item, one file per call, numbered: `003-code-1.jsonl.gz`. A file that can't be written is not an error. */
export function createTranscripts(folder: string, mask: (text: string) => string): OpenTranscript {
  return ({ step, agent }) => {
    const gzip = createGzip();
    let isOpen = true;
    let chars = 0;
    const add = (line: string): void => {
      chars += line.length;
      if (isOpen && chars <= MOST_CHARS) gzip.write(`${mask(line)}\n`);
    };
    const stop = (): void => {
      isOpen = false;
      clearInterval(timer);
    };
    const timer = setInterval(() => isOpen && gzip.flush(), FLUSH_MS);
    timer.unref();
    const closed = new Promise<void>((resolve) => {
      const file = createWriteStream(nextFile(folder, step), { flags: 'wx', mode: 0o600 });
      for (const stream of [gzip, file])
        stream.on('error', () => {
          stop();
          resolve();
        });
      gzip.pipe(file).on('close', () => resolve());
    });
    const note = (event: TranscriptNote): void => add(JSON.stringify(event));
    note({ type: 'agentos-start', step, agent, at: new Date().toISOString() });
    return {
      add,
      note,
      async close() {
        if (isOpen) gzip.end();
        stop();
        await closed;
      },
    };
  };
}

function nextFile(folder: string, step: string): string {
  try {
    mkdirSync(folder, { recursive: true });
  } catch {
    // Opening the file will fail, too.
  }
  return join(folder, `${String(transcriptFiles(folder).length + 1).padStart(3, '0')}-${step}${SUFFIX}`);
}

/** In the order of the calls. */
export function transcriptFiles(folder: string): string[] {
  try {
    const names = readdirSync(folder).filter((name) => name.endsWith(SUFFIX));
    return names.sort().map((name) => join(folder, name));
  } catch {
    return [];
  }
}

/** The events in a file; if a kill has cut it off, those before the cut. */
export async function readTranscript(file: string): Promise<Fields[]> {
  const text = await promisify(gunzip)(await readFile(file), { finishFlush: constants.Z_SYNC_FLUSH });
  return text
    .toString('utf8')
    .split('\n')
    .map((line) => fieldsOf(parseJson(line)))
    .filter((event) => event['type'] !== undefined || event['method'] !== undefined);
}
