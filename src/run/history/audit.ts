import { createReadStream, existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { createChainReader } from '../../core/chain.ts';
import { systemCode } from '../../core/errors.ts';
import { fieldsOf, parseJson } from '../../core/json.ts';
import { namesIn } from '../../process/files.ts';

/** The result of checking one file of a run. */
export interface AuditedFile {
  file: string;
  lines: number;
  /** The first problem. `line` null: it is not in a line, e.g. the end of the file is missing. */
  broken: { line: number | null; reason: string } | null;
  /** The file can't be read. */
  isUnreadable: boolean;
}

/**
 * Checks whether the events of a run and the audit files of its items are unchanged. The last event of a run that has ended holds
 * the last hash of each audit file, and its summary holds that of the events, so a file that was cut short is noticed. The files
 * of a killed run are checked one by one.
 */
export async function auditRun(directory: string): Promise<AuditedFile[]> {
  const folder = join(directory, 'audit');
  const names = (await namesIn(folder)).filter((name) => name.endsWith('.jsonl'));
  const summary = parseJson(await readFile(join(directory, 'summary.json'), 'utf8').catch(() => ''));
  const read = await readChain(join(directory, 'events.jsonl'));
  const last = fieldsOf(parseJson(read.last));
  const heads = last['type'] === 'run-finished' ? fieldsOf(last['audit']) : null;
  const audits = await Promise.all(
    names.map(async (name) => {
      const audit = await readChain(join(folder, name));
      const isWhole = heads === null || heads[name] === audit.head;
      return found(audit, isWhole ? null : 'it does not end as the run says: lines are missing or were added');
    }),
  );
  const missing = Object.keys(heads ?? {}).filter((name) => !names.includes(name));
  const isWhole = summary === null || (heads !== null && read.has(String(fieldsOf(summary)['chain'])));
  return [
    found(read, isWhole ? null : 'its end is missing'),
    ...audits,
    ...missing.map((name) => ({
      file: join(folder, name),
      lines: 0,
      broken: { line: null, reason: 'it is missing' },
      isUnreadable: false,
    })),
  ];
}

export async function isTampered(directory: string): Promise<boolean> {
  return (await auditRun(directory)).some(({ broken }) => broken !== null);
}

/** Checks one file; if it is in the folder of a run, against the other files of the run too. */
export async function auditFile(file: string): Promise<AuditedFile> {
  const run = [dirname(file), dirname(dirname(file))].find((folder) => existsSync(join(folder, 'run.json')));
  const all = run === undefined ? [] : await auditRun(run);
  return all.find((one) => one.file === file) ?? found(await readChain(file), null);
}

interface ReadChain {
  file: string;
  lines: number;
  head: string;
  has: (hash: string) => boolean;
  broken: { line: number; reason: string } | null;
  /** The last line. */
  last: string;
  unreadable: string | null;
}

function found({ file, lines, broken, unreadable }: ReadChain, problem: string | null): AuditedFile {
  if (unreadable !== null) return { file, lines, broken: { line: null, reason: unreadable }, isUnreadable: true };
  const reason = broken ?? (problem === null ? null : { line: null, reason: problem });
  return { file, lines, broken: reason, isUnreadable: false };
}

async function readChain(file: string): Promise<ReadChain> {
  const reader = createChainReader();
  let rest = '';
  let last = '';
  let unreadable: string | null = null;
  try {
    for await (const piece of createReadStream(file, { encoding: 'utf8' })) {
      const lines = (rest + String(piece)).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) reader.push(line);
      last = lines.at(-1) ?? last;
    }
    // A killed process may have left half a line at the end. It was never a record.
  } catch (error) {
    unreadable = systemCode(error) ?? String(error);
  }
  return { file, ...reader.reading(), has: (hash) => reader.has(hash), last, unreadable };
}
