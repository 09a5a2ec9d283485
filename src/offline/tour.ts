import { readFile } from 'node:fs/promises';
import { parsePatch } from 'diff';
import type { Code } from 'mdast';
import type { WriteRequest, Writer } from '../agent/port.ts';
import { locate, openWorktree } from '../agent/worktree.ts';
import { AgentosError } from '../core/errors.ts';
import { sha256 } from '../core/hash.ts';
import { NO_USAGE } from '../core/money.ts';
import { bodyHash, readFrontMatter } from '../documents/header.ts';
import { applyEdits, type Edit, readEdits } from '../documents/revise/edits.ts';
import { normaliseText, parseMarkdown, plainText, sectionsOf } from '../markdown/markdown.ts';
import type { PromptPart, Provider } from '../models/port.ts';
import { writeFileAtomic } from '../process/files.ts';
import { untagged } from '../prompts/tags.ts';
import code7 from './tour/7-code-1.md';
import codeReview7 from './tour/7-code-review-1.md';
import draft7 from './tour/7-draft.md';
import guards7 from './tour/7-guards-1.md';
import firstReview7 from './tour/7-review-1.md';
import secondReview7 from './tour/7-review-2.md';
import revision7 from './tour/7-revise-1.md';
import firstTests7 from './tour/7-tests-1.md';
import secondTests7 from './tour/7-tests-2.md';
import draft12 from './tour/12-draft.md';
import review12 from './tour/12-review-1.md';
import code21 from './tour/21-code-1.md';
import codeReview21 from './tour/21-code-review-1.md';
import draft21 from './tour/21-draft.md';
import review21 from './tour/21-review-1.md';
import tests21 from './tour/21-tests-1.md';

/*
 * The recorded tour: no model, no network, no key. A recording is found by the hash of what it answers, so that nothing else is
 * ever approved by it: an edited issue, draft or change has none. When a recording changes, so do
 * the hashes that follow from it.
 */

/** The replies about the design of an issue, by the hash of the issue in the drafter's prompt. */
const DESIGNS: Record<string, { draft: string; replies: Record<string, string> }> = {
  a5f186a863d7c847296ee9334f55147c7759f84fb73b9c803caa500f5571a448: {
    draft: draft7,
    replies: {
      'review-1 389ee546f2b5cfced1549f58d959339e4fb1a4f8b55a7bc11cf50f0e63ead744': firstReview7,
      'revise-1 f79e81e851c32ea1f7c7038444fc0ff62e7674194fd0dda5c953289fa6ada190': revision7,
      'review-2 edfc8f717e2f0e6b7762122178956121dbb47b358b3e6eb85c8a9df6c5245315': secondReview7,
    },
  },
  '12f27e2cb3a84bf4bceb0b3fe3c1671a5c28af62ad56adeae5cd6c8f90707a7c': {
    draft: draft12,
    replies: { 'review-1 c201e7e4831035c0806f7c851b020af3644e20a0330ce1ff65e80cc604cc2342': review12 },
  },
  d48cef63c92406f8be0762fe6d7b00b9eccdfbd566a633e5374cc8c0bb75506a: {
    draft: draft21,
    replies: { 'review-1 2a350c5b25d6e587cc96a9e252c58dc593996017438d06b0f9612ca6e5c2fca9': review21 },
  },
};

interface RecordedCode {
  /** One for each round. */
  tests: string[];
  code: string[];
  /** What the reviewer says, by the hash of the change that is shown. */
  reviews: Record<string, string>;
}

/** How a design was built, by the hash of the body of its LLD. */
const CODE: Record<string, RecordedCode> = {
  '33c958ab19838ad33506be5de1045c1b730a095ebc0651ea6be584747c682fce': {
    tests: [firstTests7, secondTests7],
    code: [code7],
    reviews: {
      '2f5d27972b9afda2faf21488b55fdc341bdc51bbd3d4a5ac723ebd52499be13a': guards7,
      ecee17318c9ec1fd8ea6ca2d75c807d88cc4183348ef5d70ef975eea33ad6bad: codeReview7,
    },
  },
  '1a7fb1e3cca4a80406ce2f6c51e57b9532d272598e3fe1bf4fed3cdba4b265b6': {
    tests: [tests21],
    code: [code21],
    reviews: { '1dabc85bdeb25ac2ea3317bec1bc820ce28afde98f35c5ad930d138bb4973667': codeReview21 },
  },
};

const SPEC = 'offline';

/** Plays the drafter and the reviewer. A prompt without a recording is an error. */
export function createOfflineProvider(): Provider {
  return {
    spec: SPEC,
    isModel: false,
    async complete({ parts, stepId, signal, onProgress }) {
      signal.throwIfAborted();
      const step = stepId.split('#')[0] ?? '';
      const text = recordedReply(step, parts);
      if (text === null) throw new AgentosError({ code: 'offline-no-reply', step });
      onProgress?.({ outputChars: text.length });
      return { text, asked: SPEC, answered: SPEC, substituted: false, usage: NO_USAGE, metered: true };
    },
  };
}

/** Whether the tour has a recording of an issue, given as in the drafter's prompt. */
export function isRecordedIssue(text: string): boolean {
  return DESIGNS[sha256(text.trim())] !== undefined;
}

/** The recorded code of a design; undefined if it is not one of the tour. */
export function recordedCode(lld: string): RecordedCode | undefined {
  return CODE[bodyHash(readFrontMatter(lld).body)];
}

/** The recorded reply to a prompt, or null, found by the prompt's own tags. */
function recordedReply(step: string, parts: readonly PromptPart[]): string | null {
  const shown = (tag: string): string | null =>
    parts.map(({ text }) => untagged(tag, text)).find((text) => text !== null) ?? null;
  const lld = shown('lld');
  if (lld !== null) return recordedCode(lld)?.reviews[hashOfDiff(shown('tests') ?? shown('change') ?? '')] ?? null;
  const recorded = DESIGNS[sha256((shown('issue') ?? '').trim())];
  if (step === 'draft') return recorded?.draft ?? null;
  return recorded?.replies[`${step} ${sha256((shown('draft') ?? '').trim())}`] ?? null;
}

/** Of the lines that a diff adds and removes in each file: the same for every diff algorithm. */
function hashOfDiff(diff: string): string {
  const counts = new Map<string, number>();
  for (const { oldFileName = '', newFileName = '', hunks } of parsePatch(diff)) {
    const path = newFileName.replace(/^b\//, '');
    // A file counts also without a changed line, e.g. if it was renamed.
    counts.set(`${oldFileName} ${path}`, 1);
    for (const line of hunks.flatMap(({ lines }) => lines).filter((one) => /^[+-]/.test(one))) {
      const key = `${path}\0${line.slice(1)}`;
      counts.set(key, (counts.get(key) ?? 0) + (line.startsWith('+') ? 1 : -1));
    }
  }
  const changed = [...counts].filter(([, count]) => count !== 0);
  return sha256(JSON.stringify(changed.map(([line, count]) => `${line}\0${count}`).toSorted()));
}

/** Plays the implementer. A design without a recording is refused. */
export function createOfflineWriter(): Writer {
  return {
    spec: SPEC,
    isModel: false,
    writesByItself: false,
    async write(request) {
      request.signal.throwIfAborted();
      const text = await writeRecorded(request);
      request.onProgress();
      return { text, answered: SPEC, usage: NO_USAGE, metered: true, costUsd: 0 };
    },
  };
}

async function writeRecorded(request: WriteRequest): Promise<string> {
  const { step, task, item: id } = request;
  const recorded = recordedCode(untagged('lld', task) ?? '');
  if (recorded === undefined) throw new AgentosError({ code: 'offline-no-code', id, why: 'not-recorded', file: null });
  const [, phase, round] = /^(tests|code)-(\d+)$/.exec(step) ?? [];
  const markdown = phase === 'tests' || phase === 'code' ? recorded[phase][Number(round) - 1] : undefined;
  if (markdown === undefined) return 'Nothing more was recorded.';
  const { words, files } = readStep(markdown);
  await writeFiles(files, request);
  return words;
}

/** A new file, or edits to an existing one, which fit also if it was changed elsewhere. */
type RecordedFile = { path: string; content: string } | { path: string; edits: Edit[] };

/**
 * A recording is Markdown: the final message under the title, then a heading for each file, with its path, over one block of
 * code with the whole file or edit blocks.
 */
function readStep(markdown: string): { words: string; files: RecordedFile[] } {
  const [title, ...sections] = sectionsOf(parseMarkdown(normaliseText(markdown)));
  const files = sections.flatMap((section): RecordedFile[] => {
    const block = section.own.find((node): node is Code => node.type === 'code');
    if (!block) return [];
    const edits = readEdits(block.value);
    return [edits ? { path: section.title, edits } : { path: section.title, content: `${block.value}\n` }];
  });
  return { words: (title?.own ?? []).map(plainText).join('\n'), files };
}

/** Writes all files, or none of them. */
async function writeFiles(files: readonly RecordedFile[], request: WriteRequest): Promise<void> {
  const worktree = await openWorktree(request.worktree);
  const changed: { path: string; absolute: string; text: string }[] = [];
  for (const file of files) {
    const { path } = file;
    const { kind, absolute } = await locate(worktree, path, 'write').catch((error: unknown) => {
      throw new AgentosError({ code: 'output-unwritable', path, reason: String(error) }, { cause: error });
    });
    const before = kind === 'missing' ? null : await readFile(absolute, 'utf8');
    const text = withRecorded(file, before);
    if (text === null)
      throw new AgentosError({ code: 'offline-no-code', id: request.item, why: 'changed', file: path });
    if (text !== before) changed.push({ path, absolute, text });
  }
  for (const { path, absolute, text } of changed) {
    await writeFileAtomic(absolute, text);
    request.onLine(`recorded change to ${path}`);
  }
}

/** The file with the recorded change; null if it does not fit. A change that is already there is not repeated. */
function withRecorded(file: RecordedFile, before: string | null): string | null {
  if ('content' in file) return before === null || before === file.content ? file.content : null;
  if (before === null) return null;
  const missing = file.edits.filter(({ replace }) => !before.includes(replace));
  const applied = applyEdits(before, missing);
  return applied.ok ? applied.text : null;
}
