import { closeSync, fstatSync, ftruncateSync, mkdirSync, openSync, readSync, writeSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { type Chain, createChain } from '../core/chain.ts';
import { systemCode } from '../core/errors.ts';
import type { AgentosEvent } from '../core/events.ts';
import { type ItemId, parseItemId } from '../core/ids.ts';
import { shownJson } from '../core/json.ts';
import type { RunPaths, WorkflowName } from '../core/paths.ts';
import { linesOf } from './event-lines.ts';
import { printable } from './terminal.ts';

/** Events that go into the audit file: which model was asked, what it cost, what was decided. */
const AUDITED: ReadonlySet<AgentosEvent['type']> = new Set<AgentosEvent['type']>([
  'item-started',
  'model-answered',
  'model-substituted',
  'draft-checked',
  'reply-rejected',
  'review-read',
  'ledger-updated',
  'set-aside',
  'case-judged',
  'branch-landed',
  'file-written',
  'tests-ran',
  'gate-checked',
  'changes-undone',
  'committed',
  'item-retrying',
  'item-finished',
]);

interface RunFilesOptions {
  mask: (text: string) => string;
  /** Called at the first line that can't be written; later lines are still tried. */
  onFault: (fault: { path: string; reason: string }) => void;
  /** Called once for each file that another program wrote to. */
  onForeign: (path: string) => void;
}

/**
 * Writes events to files: all of them to `events.jsonl`, each item's lines to its log, its decisions to its audit file. Nothing is
 * buffered, so a killed run has everything up to the kill. A line is complete or absent. Events and audit files are chains: see
 * `core/chain.ts`.
 */
export function openRunFiles(paths: RunPaths, { mask, onFault, onForeign }: RunFilesOptions) {
  const files = createAppendFiles(onForeign);
  const chains = new Map<string, Chain>();
  let faulty = false;
  let closed = false;

  const chainOf = (path: string): Chain => {
    const chain = chains.get(path) ?? createChain();
    chains.set(path, chain);
    return chain;
  };
  const addRecord = (path: string, record: string): void => {
    const { line, commit } = chainOf(path).link(record);
    append(path, line, commit);
  };
  const append = (path: string, text: string, onWritten: () => void = () => undefined): void => {
    if (closed) return;
    try {
      files.append(path, text);
      onWritten();
    } catch (error) {
      const isFirst = !faulty;
      // Set first, because reporting the fault writes an event.
      faulty = true;
      if (isFirst) onFault({ path, reason: systemCode(error) ?? String(error) });
    }
  };

  return {
    subscriber: (event: AgentosEvent): void => {
      const record = mask(shownJson(event));
      addRecord(paths.events, record);
      if (!('item' in event)) return;
      const id = parseItemId(event.item);
      const lines = linesOf(event).flatMap(({ text }) =>
        text.split('\n').map((line) => `${event.at} ${printable(line)}\n`),
      );
      if (lines.length > 0) append(paths.log(event.workflow, id), mask(lines.join('')));
      if (AUDITED.has(event.type)) addRecord(paths.audit(event.workflow, id), record);
      if (event.type !== 'item-finished') return;
      files.close(paths.log(event.workflow, id));
      files.close(paths.audit(event.workflow, id));
    },
    /** Logs a line that an item's worker printed itself. */
    printed: (workflow: WorkflowName, id: ItemId, line: string): void =>
      append(paths.log(workflow, id), mask(`${new Date().toISOString()} ${printable(line)}\n`)),
    /** The last hash of `events.jsonl`. */
    head: (): string => chainOf(paths.events).head(),
    /** The last hash of each audit file, by its name. */
    auditHeads: (): Record<string, string> =>
      Object.fromEntries(
        [...chains].filter(([path]) => path !== paths.events).map(([path, chain]) => [basename(path), chain.head()]),
      ),
    /** Later events are not written: the run's end is its last event. */
    close(): void {
      closed = true;
      files.closeAll();
    },
  };
}

interface OpenFile {
  handle: number;
  size: number;
}

const LINE_FEED = 0x0a;
/** Ten running items have two files each. */
const MOST_OPEN = 24;

/** Files that lines are appended to, a few of them open at a time. `onForeign`: see `RunFilesOptions`. */
export function createAppendFiles(onForeign: (path: string) => void = () => undefined) {
  /** In the order of their last use. */
  const open = new Map<string, OpenFile>();

  const foreign = new Set<string>();
  const noteForeign = (path: string, file: OpenFile, size: number): void => {
    file.size = size;
    if (foreign.has(path)) return;
    foreign.add(path);
    onForeign(path);
  };
  const close = (path: string): void => {
    const file = open.get(path);
    open.delete(path);
    if (file !== undefined) closeSync(file.handle);
  };
  const openedAt = (path: string): OpenFile => {
    const known = open.get(path);
    const found = known && fstatSync(known.handle);
    if (known !== undefined && found?.size !== known.size) noteForeign(path, known, found?.size ?? 0);
    // The file was deleted, so writes to its handle would be lost.
    if (found?.nlink === 0) close(path);
    const file = open.get(path) ?? openFile(path);
    open.delete(path);
    open.set(path, file);
    const [oldest] = open.keys();
    if (open.size > MOST_OPEN && oldest !== undefined) close(oldest);
    return file;
  };

  return {
    /** Writes whole lines: all of them or, if it throws, none. */
    append(path: string, lines: string): void {
      const file = openedAt(path);
      try {
        writeAll(file, Buffer.from(lines));
      } catch (error) {
        // Opening it again repairs its end.
        close(path);
        throw error;
      }
    },
    /** A later append opens it again. */
    close,
    closeAll(): void {
      for (const path of open.keys()) close(path);
    },
  };
}

function openFile(path: string): OpenFile {
  mkdirSync(dirname(path), { recursive: true });
  const file: OpenFile = { handle: openSync(path, 'a+'), size: 0 };
  try {
    file.size = fstatSync(file.handle).size;
    const last = Buffer.alloc(1);
    // A killed process may have left half a line: readers skip it if the next line starts on a new one.
    if (file.size > 0 && readSync(file.handle, last, 0, 1, file.size - 1) === 1 && last[0] !== LINE_FEED)
      writeAll(file, Buffer.from('\n'));
    return file;
  } catch (error) {
    closeSync(file.handle);
    throw error;
  }
}

/** A full disk may take only the first part: then the file is truncated to its old size. */
function writeAll(file: OpenFile, bytes: Buffer): void {
  try {
    for (let at = 0; at < bytes.length; ) at += writeSync(file.handle, bytes, at);
    file.size += bytes.length;
  } catch (error) {
    try {
      ftruncateSync(file.handle, file.size);
    } catch {
      // Half a line stays, and `openFile` ends it.
    }
    throw error;
  }
}
