import { parsePatch } from 'diff';
import type { Code } from 'mdast';
import { bodyHash, readFrontMatter } from '../documents/header.ts';
import { normaliseText, parseMarkdown, plainText, sectionsOf } from '../documents/markdown.ts';
import { type Edit, readEdits } from '../documents/revise/edits.ts';
import code7 from './tour/7-code-1.md';
import review7 from './tour/7-code-review-1.md';
import guards7 from './tour/7-guards-1.md';
import firstTests7 from './tour/7-tests-1.md';
import secondTests7 from './tour/7-tests-2.md';
import code21 from './tour/21-code-1.md';
import review21 from './tour/21-code-review-1.md';
import tests21 from './tour/21-tests-1.md';

/** A file that is new, or edits to one that is there. Edits fit a file that others have changed elsewhere, too. */
export type RecordedFile = { path: string; content: string } | { path: string; edits: Edit[] };

/** What was written in one step, and the words that went with it. */
export interface RecordedStep {
  words: string;
  files: RecordedFile[];
}

/** How a design of the tour was built. */
export interface RecordedCode {
  /** One for each round. */
  tests: RecordedStep[];
  code: RecordedStep[];
  /** What was said of the first tests, where some of them pass too early. */
  guards: string | null;
  /** The review of what all of them made together. */
  review: string;
}

interface Recording {
  tests: string[];
  code: string[];
  guards?: string;
  review: string;
}

/** By the hash of the approved LLD's body as the tour makes it: a person's own design, or an edited one, is not in here. */
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

export function recordedCode(lld: string): RecordedCode | null {
  const recording = RECORDINGS[bodyHash(readFrontMatter(lld).body)];
  if (!recording) return null;
  const { tests, code, guards = null, review } = recording;
  return { tests: tests.map(readRecordedStep), code: code.map(readRecordedStep), guards, review };
}

/** The recorded review of exactly the code, or the first tests, that it was recorded for; null for any other. */
export function recordedCodeReview(lld: string, shown: { tests: string | null; change: string | null }): string | null {
  const recording = recordedCode(lld);
  const changes = changesOfDiff(shown.tests ?? shown.change ?? '');
  if (recording === null || changes === null) return null;
  const { tests, code, guards, review } = recording;
  const reviewed = shown.tests === null ? [...tests, ...code] : tests.slice(0, 1);
  if (!sameChanges(changes, changesOfSteps(reviewed))) return null;
  return shown.tests === null ? review : guards;
}

/**
 * A recording is Markdown: under the title a few words, then a heading for each file, with its path, over one block of
 * code that holds the whole file or edit blocks.
 */
function readRecordedStep(markdown: string): RecordedStep {
  const [title] = sectionsOf(parseMarkdown(normaliseText(markdown)));
  const files = (title?.subsections ?? []).flatMap((section): RecordedFile[] => {
    const block = section.own.find((node): node is Code => node.type === 'code');
    if (!block) return [];
    const edits = readEdits(block.value);
    return [edits ? { path: section.title, edits } : { path: section.title, content: `${block.value}\n` }];
  });
  return { words: (title?.own ?? []).map(plainText).join('\n'), files };
}

/** By path: how often each line was added, less how often it was removed. The same, whatever algorithm made the diff. */
type LineChanges = Map<string, Map<string, number>>;

/** Of a diff as git prints it; null where it can't be read. */
function changesOfDiff(diff: string): LineChanges | null {
  const changes: LineChanges = new Map();
  try {
    for (const { oldFileName = '', newFileName = '', hunks } of parsePatch(diff)) {
      const paths = [oldFileName.replace(/^a\//, ''), newFileName.replace(/^b\//, '')];
      const [before = '', after = ''] = paths.map((path) => (path === '/dev/null' ? '' : path));
      // A renamed file is gone from its old place, too.
      for (const path of [before, after]) if (path !== '') changes.set(path, changes.get(path) ?? new Map());
      for (const line of hunks.flatMap(({ lines }) => lines)) {
        if (line.startsWith('+')) count(changes, after, [line.slice(1)], 1);
        if (line.startsWith('-')) count(changes, before, [line.slice(1)], -1);
      }
    }
  } catch {
    return null;
  }
  return changes.size === 0 && diff.trim() !== '' ? null : changes;
}

function changesOfSteps(steps: readonly RecordedStep[]): LineChanges {
  const changes: LineChanges = new Map();
  for (const file of steps.flatMap(({ files }) => files)) {
    if ('content' in file) count(changes, file.path, file.content.replace(/\n$/, '').split('\n'), 1);
    else {
      for (const { search, replace } of file.edits) {
        count(changes, file.path, search.split('\n'), -1);
        count(changes, file.path, replace.split('\n'), 1);
      }
    }
  }
  return changes;
}

function sameChanges(left: LineChanges, right: LineChanges): boolean {
  return canonical(left) === canonical(right);
}

function count(changes: LineChanges, path: string, lines: readonly string[], by: 1 | -1): void {
  const counts = changes.get(path) ?? new Map<string, number>();
  changes.set(path, counts);
  for (const line of lines) counts.set(line, (counts.get(line) ?? 0) + by);
}

function canonical(changes: LineChanges): string {
  const files = [...changes].map(([path, counts]) => [
    path,
    [...counts]
      .filter(([, times]) => times !== 0)
      .map(([line, times]) => `${line}\0${times}`)
      .toSorted(),
  ]);
  return JSON.stringify(files.toSorted(([a], [b]) => (String(a) < String(b) ? -1 : 1)));
}
