import { closeSync, fstatSync, ftruncateSync, mkdirSync, openSync, readSync, writeSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { type Chain, createChain } from '../core/chain.ts';
import { systemCode } from '../core/errors.ts';
import type { AgentosEvent, Subscriber } from '../core/events.ts';
import { type ItemId, parseItemId } from '../core/ids.ts';
import { shownJson } from '../core/json.ts';
import type { RunPaths, WorkflowName } from '../core/paths.ts';
import { linesOf } from './lines.ts';
import { printable } from './terminal.ts';

interface RunFiles {
  subscriber: Subscriber;
  /** A line that an item's worker printed itself. */
  printed(workflow: WorkflowName, id: ItemId, line: string): void;
  /** The last hash of `events.jsonl`. */
  head(): string;
  /** The last hash of each audit file, by its name. */
  auditHeads(): Record<string, string>;
  /** What comes later is not written: the run's end is its last event. */
  close(): void;
}

/** What an auditor wants to know later: who was asked what, who answered, what it cost, what was decided. */
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
  /** Called at the first line that can't be written; later ones are tried all the same. */
  onFault: (fault: { path: string; reason: string }) => void;
  /** Called once for each file that something else wrote to. */
  onForeign: (path: string) => void;
}

/**
 * Events as files: all of them in `events.jsonl`, each item's lines in its log, its decisions in its audit file. Written
 * at once, not buffered: a killed run has everything up to the kill. A line is whole or absent. Events and audit files are chains:
 * see `core/chain.ts`.
 */
export function openRunFiles(paths: RunPaths, { mask, onFault, onForeign }: RunFilesOptions): RunFiles {
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
      // First: what is said of it is an event too.
      faulty = true;
      if (isFirst) onFault({ path, reason: systemCode(error) ?? String(error) });
    }
  };

  return {
    subscriber(event) {
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
    printed: (workflow, id, line) =>
      append(paths.log(workflow, id), mask(`${new Date().toISOString()} ${printable(line)}\n`)),
    head: () => chainOf(paths.events).head(),
    auditHeads: () =>
      Object.fromEntries(
        [...chains].filter(([path]) => path !== paths.events).map(([path, chain]) => [basename(path), chain.head()]),
      ),
    close() {
      closed = true;
      files.closeAll();
    },
  };
}

/** Files that lines are added to, a few of them open at a time. */
interface AppendFiles {
  /** Whole lines. All of the text gets into the file, or none of it and the error is thrown. */
  append(path: string, lines: string): void;
  /** Nothing more is expected for it now; a later append opens it again. */
  close(path: string): void;
  closeAll(): void;
}

interface OpenFile {
  handle: number;
  size: number;
}

const LINE_FEED = 0x0a;
/** Ten items at work have two files each; those that wait for another attempt can do without theirs. */
const MOST_OPEN = 24;

/** `onForeign`: called once for each file that something else wrote to while it was open. */
export function createAppendFiles(onForeign: (path: string) => void = () => undefined): AppendFiles {
  /** The one that was used last comes last. */
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
    // The file was deleted: what is written to its handle would be lost.
    if (found?.nlink === 0) close(path);
    const file = open.get(path) ?? openFile(path);
    open.delete(path);
    open.set(path, file);
    const [oldest] = open.keys();
    if (open.size > MOST_OPEN && oldest !== undefined) close(oldest);
    return file;
  };

  return {
    append(path, lines) {
      const file = openedAt(path);
      try {
        writeAll(file, Buffer.from(lines));
      } catch (error) {
        // Opened again, it is looked at how it ends.
        close(path);
        throw error;
      }
    },
    close,
    closeAll() {
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
    // A process that was killed may have left half a line: readers pass over it, if the next one begins a new line.
    if (file.size > 0 && readSync(file.handle, last, 0, 1, file.size - 1) === 1 && last[0] !== LINE_FEED)
      writeAll(file, Buffer.from('\n'));
    return file;
  } catch (error) {
    closeSync(file.handle);
    throw error;
  }
}

/** A full disk takes the beginning and refuses the rest. */
function writeAll(file: OpenFile, bytes: Buffer): void {
  try {
    for (let at = 0; at < bytes.length; ) at += writeSync(file.handle, bytes, at);
    file.size += bytes.length;
  } catch (error) {
    try {
      ftruncateSync(file.handle, file.size);
    } catch {
      // Then half a line stays, and the next one begins behind it.
    }
    throw error;
  }
}
