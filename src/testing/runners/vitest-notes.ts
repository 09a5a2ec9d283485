import { z } from 'zod';
import { caseMessage, loadMessage } from '../message.ts';
import type { LoadFailure, TestCase } from '../port.ts';
import type { JestReading } from '../reports/jest-json.ts';
import type { PathInWorktree } from '../worktree-path.ts';

/**
 * A reporter that notes what Vitest's JSON leaves out: errors outside of tests, errors of hooks, tests that are expected
 * to fail. It runs inside the user's Vitest, of whatever version: from 3 on it is called with `onTestRunEnd`, before that
 * with `onFinished`. It writes beside itself.
 */
export const VITEST_NOTES_REPORTER = `import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const textOf = (error) => {
  const said = (error?.name ? error.name + ': ' : '') + (error?.message ?? String(error));
  const stack = error?.stack ?? '';
  return [stack.includes(error?.message ?? said) ? stack : said + '\\n' + stack, error?.codeFrame ?? error?.frame ?? '']
    .join('\\n').trim();
};

export default class Notes {
  notes = { unhandled: [], suites: [], expected: [] };

  onTestRunEnd(modules, errors) {
    for (const module of modules) {
      this.suite(module.moduleId, '', module.errors());
      for (const suite of module.children.allSuites()) this.suite(module.moduleId, suite.fullName, suite.errors());
      for (const test of module.children.allTests())
        if (test.options?.fails) this.notes.expected.push({ file: module.moduleId, name: test.fullName });
    }
    this.write(errors);
  }

  onFinished(files, errors) {
    for (const file of files ?? []) this.task(file.filepath, '', file);
    this.write(errors);
  }

  task(file, name, task) {
    if (task.tasks) {
      this.suite(file, name, task.result?.errors);
      for (const child of task.tasks) this.task(file, name ? name + ' > ' + child.name : child.name, child);
    } else if (task.fails) this.notes.expected.push({ file, name });
  }

  suite(file, name, errors) {
    if (errors?.length) this.notes.suites.push({ file, name, message: errors.map(textOf).join('\\n\\n') });
  }

  write(errors) {
    if (this.written) return;
    this.written = true;
    for (const error of errors ?? [])
      this.notes.unhandled.push({ file: error?.VITEST_TEST_PATH ?? null, message: textOf(error) });
    writeFileSync(fileURLToPath(import.meta.url).replace(/mjs$/, 'json'), JSON.stringify(this.notes));
  }
}
`;

const notesSchema = z.object({
  unhandled: z.array(z.object({ file: z.string().nullable(), message: z.string() })),
  suites: z.array(z.object({ file: z.string(), name: z.string(), message: z.string() })),
  expected: z.array(z.object({ file: z.string(), name: z.string() })),
});

export type VitestNotes = z.infer<typeof notesSchema>;

/** Null where it was cut off. */
export function parseVitestNotes(text: string): VitestNotes | null {
  try {
    return notesSchema.parse(JSON.parse(text));
  } catch {
    return null;
  }
}

/** The report with the notes worked in. */
export function withVitestNotes(report: JestReading, notes: VitestNotes, pathInWorktree: PathInWorktree): JestReading {
  const loadFailures = new Map<string, LoadFailure>();
  for (const failure of report.loadFailures) loadFailures.set(failure.file ?? failure.message, failure);
  const isExpected = new Set(notes.expected.map(({ file, name }) => keyOf(pathInWorktree(file), name)));
  let cases = report.cases.map((test): TestCase => {
    const isExcused = test.outcome === 'passed' && isExpected.has(keyOf(test.file, test.name));
    return isExcused ? { ...test, outcome: 'skipped' } : test;
  });
  for (const suite of notes.suites) {
    const file = pathInWorktree(suite.file);
    const inside = cases.filter((test) => test.file === file && isWithin(test.name, suite.name));
    // A hook that fails before the tests leaves all of them out; one that fails after them leaves them as they are.
    const isBefore = inside.length > 0 && inside.every((test) => test.outcome === 'skipped');
    if (isBefore)
      cases = cases.map((test) =>
        inside.includes(test) ? { ...test, outcome: 'failed', message: caseMessage(suite.message) } : test,
      );
    else loadFailures.set(file ?? suite.file, { file, message: loadMessage(suite.message) });
  }
  const unhandled = notes.unhandled.map(({ file, message }) => ({
    file: file === null ? null : pathInWorktree(file),
    message: loadMessage(message),
  }));
  return { cases, loadFailures: [...loadFailures.values(), ...unhandled] };
}

function isWithin(name: string, suite: string): boolean {
  return suite === '' || name.startsWith(`${suite} > `);
}

function keyOf(file: string | null, name: string): string {
  return JSON.stringify([file, name]);
}
