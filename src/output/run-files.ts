import { systemCode } from '../core/errors.ts';
import type { AgentosEvent, Subscriber } from '../core/events.ts';
import { type ItemId, parseItemId } from '../core/ids.ts';
import type { RunPaths, WorkflowName } from '../core/paths.ts';
import { createAppendFiles } from './append-file.ts';
import { linesOf } from './item-lines.ts';
import { printable } from './terminal.ts';

export interface RunFiles {
  subscriber: Subscriber;
  /** A line that an item's worker printed itself. */
  printed(workflow: WorkflowName, id: ItemId, line: string): void;
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
 * at once, not buffered: a killed run has everything up to the kill. A line is whole or absent. `onFault` is called at the
 * first line that can't be written; later ones are tried all the same.
 */
export function openRunFiles(
  paths: RunPaths,
  mask: (text: string) => string,
  onFault: (fault: { path: string; reason: string }) => void,
): RunFiles {
  const files = createAppendFiles();
  let faulty = false;
  let closed = false;

  const append = (path: string, text: string): void => {
    if (closed) return;
    try {
      files.append(path, mask(text));
    } catch (error) {
      const isFirst = !faulty;
      // First: what is said of it is an event too.
      faulty = true;
      if (isFirst) onFault({ path, reason: systemCode(error) ?? String(error) });
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
      if (event.type !== 'item-finished') return;
      files.close(paths.log(event.workflow, id));
      files.close(paths.audit(event.workflow, id));
    },
    printed: (workflow, id, line) =>
      append(paths.log(workflow, id), `${new Date().toISOString()} ${printable(line)}\n`),
    close() {
      closed = true;
      files.closeAll();
    },
  };
}
