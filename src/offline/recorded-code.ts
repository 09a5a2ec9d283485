import { parsePatch } from 'diff';
import type { Code } from 'mdast';
import { bodyHash, readFrontMatter } from '../documents/header.ts';
import { type Edit, readEdits } from '../documents/revise/edits.ts';
import { normaliseText, parseMarkdown, plainText, sectionsOf } from '../markdown/markdown.ts';
import code7 from './tour/7-code-1.md';
import review7 from './tour/7-code-review-1.md';
import guards7 from './tour/7-guards-1.md';
import firstTests7 from './tour/7-tests-1.md';
import secondTests7 from './tour/7-tests-2.md';
import code21 from './tour/21-code-1.md';
import review21 from './tour/21-code-review-1.md';
import tests21 from './tour/21-tests-1.md';

/** A new file, or edits to an existing one, which fit also if it was changed elsewhere. */
export type RecordedFile = { path: string; content: string } | { path: string; edits: Edit[] };

interface RecordedStep {
  /** The final message. */
  words: string;
  files: RecordedFile[];
}

interface Recording {
  /** One for each round. */
  tests: string[];
  code: string[];
  /** The reply about the first tests, if some of them pass too early. */
  guards?: string;
  /** The review of the whole change. */
  review: string;
}

/** By the hash of the body of the tour's LLD: any other design has no recording. */
const RECORDINGS: Record<string, Recording> = {
  '33c958ab19838ad33506be5de1045c1b730a095ebc0651ea6be584747c682fce': {
    tests: [firstTests7, secondTests7],
    code: [code7],
    guards: guards7,
    review: review7,
  },
  '1a7fb1e3cca4a80406ce2f6c51e57b9532d272598e3fe1bf4fed3cdba4b265b6': {
    tests: [tests21],
    code: [code21],
    review: review21,
  },
};

/** How a design of the tour was built; null for any other. */
export function recordedCode(lld: string) {
  const recording = RECORDINGS[bodyHash(readFrontMatter(lld).body)];
  if (recording === undefined) return null;
  return { ...recording, tests: recording.tests.map(readStep), code: recording.code.map(readStep) };
}

/** The recorded review of exactly this code, or these tests; null for any other. */
export function recordedCodeReview(lld: string, shown: { tests: string | null; change: string | null }): string | null {
  const recording = recordedCode(lld);
  if (recording === null) return null;
  const { tests, code, guards = null, review } = recording;
  const isTests = shown.tests !== null;
  const reviewed = isTests ? tests.slice(0, 1) : [...tests, ...code];
  if (changesOfDiff(shown.tests ?? shown.change ?? '') !== changesOfSteps(reviewed)) return null;
  return isTests ? guards : review;
}

/**
 * A recording is Markdown: the final message under the title, then a heading for each file, with its path, over one block of
 * code with the whole file or edit blocks.
 */
function readStep(markdown: string): RecordedStep {
  const [title, ...sections] = sectionsOf(parseMarkdown(normaliseText(markdown)));
  const files = sections.flatMap((section): RecordedFile[] => {
    const block = section.own.find((node): node is Code => node.type === 'code');
    if (!block) return [];
    const edits = readEdits(block.value);
    return [edits ? { path: section.title, edits } : { path: section.title, content: `${block.value}\n` }];
  });
  return { words: (title?.own ?? []).map(plainText).join('\n'), files };
}

/** How often each line of each file was added, less how often it was removed: the same for every diff algorithm. */
class LineChanges {
  readonly #counts = new Map<string, number>();

  /** A file counts also without a changed line, e.g. if it was renamed. */
  add(path: string, lines: readonly string[], by: 1 | -1): void {
    this.#counts.set(`${path}\0`, 1);
    for (const line of lines) {
      const key = `${path}\0${line}\0`;
      this.#counts.set(key, (this.#counts.get(key) ?? 0) + by);
    }
  }

  toString(): string {
    const changed = [...this.#counts].filter(([, times]) => times !== 0);
    return JSON.stringify(changed.map(([key, times]) => `${key}${times}`).toSorted());
  }
}

/** Null if the diff can't be read. */
function changesOfDiff(diff: string): string | null {
  const changes = new LineChanges();
  try {
    const files = parsePatch(diff);
    for (const { oldFileName = '', newFileName = '', hunks } of files) {
      const before = oldFileName.replace(/^a\//, '');
      const after = newFileName.replace(/^b\//, '');
      const lines = hunks.flatMap((hunk) => hunk.lines);
      const marked = (mark: string): string[] =>
        lines.filter((line) => line.startsWith(mark)).map((line) => line.slice(1));
      if (before !== '/dev/null') changes.add(before, marked('-'), -1);
      if (after !== '/dev/null') changes.add(after, marked('+'), 1);
    }
    return files.length === 0 && diff.trim() !== '' ? null : String(changes);
  } catch {
    return null;
  }
}

function changesOfSteps(steps: readonly RecordedStep[]): string {
  const changes = new LineChanges();
  for (const file of steps.flatMap(({ files }) => files)) {
    if ('content' in file) changes.add(file.path, file.content.replace(/\n$/, '').split('\n'), 1);
    else {
      for (const { search, replace } of file.edits) {
        changes.add(file.path, search.split('\n'), -1);
        changes.add(file.path, replace.split('\n'), 1);
      }
    }
  }
  return String(changes);
}
