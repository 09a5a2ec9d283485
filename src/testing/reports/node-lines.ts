import { z } from 'zod';
import { caseMessage, loadMessage } from '../message.ts';
import type { LoadFailure, TestCase } from '../port.ts';
import type { PathInWorktree } from '../worktree-path.ts';

const lineSchema = z.object({
  type: z.enum(['pass', 'fail']),
  kind: z.string(),
  names: z.array(z.string().nullable()),
  file: z.string().nullable(),
  excused: z.boolean(),
  failure: z.string().nullable(),
  message: z.string().nullable(),
  printed: z.string(),
});

type NodeLine = z.infer<typeof lineSchema>;

/** The reporter's last line. */
export const END_LINE = JSON.stringify({ type: 'end' });

export interface NodeReading {
  cases: TestCase[];
  loadFailures: LoadFailure[];
}

/**
 * What our own reporter wrote. Node reports a file without tests, and one that can't be loaded, as a test with the name of
 * the file. Null where the reporter never began, or never came to its end.
 */
export function parseNodeLines(
  text: string,
  pathInWorktree: PathInWorktree,
  sourceOf: PathInWorktree,
): NodeReading | null {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  if (lines.at(-1) !== END_LINE) return null;
  const reading: NodeReading = { cases: [], loadFailures: [] };
  /** Tests that were given up because something around them failed, which is told of later. */
  let cancelled: { names: string; test: TestCase }[] = [];
  for (const line of lines) {
    const parsed = lineSchema.safeParse(fromJson(line));
    if (!parsed.success) continue;
    const found = parsed.data;
    const file = found.file === null ? null : sourceOf(found.file);
    const name = found.names.filter((part) => part !== null).join(' > ');
    if (isWholeFile(found, pathInWorktree)) {
      if (found.type === 'fail' && !found.excused)
        reading.loadFailures.push({ file, message: loadMessage(`${found.printed}\n${found.message ?? ''}`) });
      continue;
    }
    if (found.kind === 'suite') {
      const inside = cancelled.filter(({ names }) => names.startsWith(`${name} > `));
      if (found.type === 'pass' || found.excused || found.failure === 'subtestsFailed') continue;
      for (const { test } of inside) test.message = caseMessage(found.message ?? '');
      cancelled = cancelled.filter((entry) => !inside.includes(entry));
      if (inside.length === 0) reading.loadFailures.push({ file, message: loadMessage(found.message ?? '') });
      continue;
    }
    const outcome = found.excused ? 'skipped' : found.type === 'pass' ? 'passed' : 'failed';
    const message = outcome === 'failed' ? caseMessage(found.message ?? '') : null;
    const test: TestCase = { file, name, outcome, message };
    reading.cases.push(test);
    if (found.failure === 'cancelledByParent') cancelled.push({ names: name, test });
  }
  return reading;
}

function isWholeFile(line: NodeLine, pathInWorktree: PathInWorktree): boolean {
  const [name] = line.names;
  if (line.names.length !== 1 || line.kind !== 'test' || name === null || name === undefined || line.file === null)
    return false;
  const file = pathInWorktree(line.file);
  return file !== null && pathInWorktree(name) === file;
}

function fromJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
