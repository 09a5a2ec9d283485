import { closeSync, mkdirSync, openSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { systemCode } from '../core/errors.ts';
import type { AgentosEvent, Subscriber } from '../core/events.ts';
import { type ItemId, parseItemId } from '../core/ids.ts';
import type { RunPaths, WorkflowName } from '../core/paths.ts';
import { linesOf } from './item-lines.ts';
import { printable } from './terminal.ts';

export interface RunFiles {
  subscriber: Subscriber;
  /** A line that an item's worker printed itself. */
  printed(workflow: WorkflowName, id: ItemId, line: string): void;
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
  'set-aside',
  'file-written',
  'tests-ran',
  'gate-checked',
  'changes-undone',
  'committed',
  'item-retrying',
  'item-finished',
]);

/**
 * Events as files: all of them in `events.jsonl`, each item's lines in its log, its decisions in its audit file. Written
 * at once, not buffered: a killed run has everything up to the kill. A full disk costs these files, not the run.
 */
export function openRunFiles(
  paths: RunPaths,
  mask: (text: string) => string,
  onFault: (text: string) => void,
): RunFiles {
  const open = new Map<string, number>();
  let faulty = false;

  const append = (path: string, text: string): void => {
    try {
      let file = open.get(path);
      if (file === undefined) {
        mkdirSync(dirname(path), { recursive: true });
        file = openSync(path, 'a');
        open.set(path, file);
      }
      writeSync(file, mask(text));
    } catch (error) {
      if (!faulty)
        onFault(`${path} can't be written (${systemCode(error) ?? String(error)}); the run goes on without it`);
      faulty = true;
    }
  };

  return {
    subscriber(event) {
      const record = `${JSON.stringify(event)}\n`;
      append(paths.events, record);
      if (!('item' in event)) return;
      const id = parseItemId(event.item);
      const lines = linesOf(event).flatMap(({ text }) =>
        text.split('\n').map((line) => `${event.at} ${printable(line)}\n`),
      );
      if (lines.length > 0) append(paths.log(event.workflow, id), lines.join(''));
      if (AUDITED.has(event.type)) append(paths.audit(event.workflow, id), record);
    },
    printed: (workflow, id, line) =>
      append(paths.log(workflow, id), `${new Date().toISOString()} ${printable(line)}\n`),
    close() {
      for (const file of open.values()) closeSync(file);
      open.clear();
    },
  };
}
