import { closeSync, constants, fstatSync, ftruncateSync, mkdirSync, openSync, readSync, writeSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { type Chain, createChain } from '../core/chain.ts';
import { systemCode } from '../core/errors.ts';
import type { AgentosEvent } from '../core/events.ts';
import { type ItemId, parseItemId } from '../core/ids.ts';
import { shownJson } from '../core/json.ts';
import type { RunPaths, WorkflowName } from '../core/paths.ts';
import { linesOf } from '../output/event-lines.ts';
import { printable } from '../output/terminal.ts';

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

interface EventFilesOptions {
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
export function openEventFiles(paths: RunPaths, { mask, onFault, onForeign }: EventFilesOptions) {
  const appendTo = createAppender(onForeign);
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
      appendTo(path, text);
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
    },
  };
}

const LINE_FEED = 0x0a;

/**
 * Appends whole lines to files: all of them or, if it throws, none. No file stays open: a run of a thousand items has two thousand.
 * `onForeign`: see `EventFilesOptions`.
 */
export function createAppender(onForeign: (path: string) => void = () => undefined) {
  /** The size of each file after our last write. */
  const sizes = new Map<string, number>();
  const foreign = new Set<string>();
  return (path: string, lines: string): void => {
    const { handle, isNew } = openToAppend(path);
    const { size } = fstatSync(handle);
    const known = isNew ? 0 : sizes.get(path);
    try {
      if (known !== undefined && known !== size && !foreign.has(path)) {
        foreign.add(path);
        onForeign(path);
      }
      // A killed process may have left half a line: readers skip it if the next line starts on a new one.
      const isWhole = known === size || endsWithLine(handle, size);
      const bytes = Buffer.from(isWhole ? lines : `\n${lines}`);
      // Forgotten until it is written: if that fails, the file is looked at anew.
      sizes.delete(path);
      for (let at = 0; at < bytes.length; ) at += writeSync(handle, bytes, at);
      sizes.set(path, size + bytes.length);
    } catch (error) {
      // A full disk may take only the first part.
      truncate(handle, size);
      throw error;
    } finally {
      closeSync(handle);
    }
  };
}

/** `isNew`: it did not exist, or was deleted since the last line. */
function openToAppend(path: string): { handle: number; isNew: boolean } {
  try {
    return { handle: openSync(path, constants.O_RDWR | constants.O_APPEND), isNew: false };
  } catch (error) {
    if (systemCode(error) !== 'ENOENT') throw error;
    mkdirSync(dirname(path), { recursive: true });
    return { handle: openSync(path, 'a+'), isNew: true };
  }
}

function endsWithLine(handle: number, size: number): boolean {
  const last = Buffer.alloc(1);
  return size === 0 || readSync(handle, last, 0, 1, size - 1) === 0 || last[0] === LINE_FEED;
}

function truncate(handle: number, size: number): void {
  try {
    ftruncateSync(handle, size);
  } catch {
    // Half a line stays; the next one starts on a new line.
  }
}
