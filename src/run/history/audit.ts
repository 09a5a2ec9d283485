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
  const summary = parseJson(await readFile(join(directory, 'summary.json'), 'utf8').catch(() => ''));
  const events = await readChain(join(directory, 'events.jsonl'));
  const last = fieldsOf(parseJson(events.last));
  const heads = last['type'] === 'run-finished' ? fieldsOf(last['audit']) : null;
  const isCut = summary !== null && (heads === null || !events.has(String(fieldsOf(summary)['chain'])));
  const names = (await namesIn(folder)).filter((name) => name.endsWith('.jsonl'));
  const missing = Object.keys(heads ?? {}).filter((name) => !names.includes(name));
  const audits = names.map(async (name) => {
    const audit = await readChain(join(folder, name));
    const isWhole = heads === null || heads[name] === audit.head;
    return isWhole
      ? audit.file
      : brokenBy(audit.file, 'it does not end as the run says: lines are missing or were added');
  });
  return [
    isCut ? brokenBy(events.file, 'its end is missing') : events.file,
    ...(await Promise.all(audits)),
    ...missing.map((name) =>
      brokenBy({ file: join(folder, name), lines: 0, broken: null, isUnreadable: false }, 'it is missing'),
    ),
  ];
}

export async function isTampered(directory: string): Promise<boolean> {
  return (await auditRun(directory)).some(({ broken }) => broken !== null);
}

/** Checks one file; if it is in the folder of a run, against the other files of the run too. */
export async function auditFile(file: string): Promise<AuditedFile> {
  const run = [dirname(file), dirname(dirname(file))].find((folder) => existsSync(join(folder, 'run.json')));
  const all = run === undefined ? [] : await auditRun(run);
  return all.find((one) => one.file === file) ?? (await readChain(file)).file;
}

/** The first problem counts. */
function brokenBy(file: AuditedFile, reason: string): AuditedFile {
  return { ...file, broken: file.broken ?? { line: null, reason } };
}

async function readChain(path: string) {
  const reader = createChainReader();
  const file: AuditedFile = { file: path, lines: 0, broken: null, isUnreadable: false };
  let rest = '';
  let last = '';
  try {
    for await (const piece of createReadStream(path, { encoding: 'utf8' })) {
      const lines = (rest + String(piece)).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) reader.push(line);
      last = lines.at(-1) ?? last;
    }
    // A killed process may have left half a line at the end. It was never a record.
  } catch (error) {
    Object.assign(file, { broken: { line: null, reason: systemCode(error) ?? String(error) }, isUnreadable: true });
  }
  const { lines, head, broken } = reader.reading();
  return {
    file: { ...file, lines, broken: file.broken ?? broken },
    head,
    has: (hash: string) => reader.has(hash),
    last,
  };
}
