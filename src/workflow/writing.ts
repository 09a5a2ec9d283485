import type { WriteReply, WriteRequest, Writer, WritingPhase } from '../agent/port.ts';
import { AgentosError } from '../core/errors.ts';
import { sha256 } from '../core/hash.ts';
import { boundedLines } from '../core/lines.ts';
import type { StepContext } from '../journal/port.ts';
import { isRead, type TestRun } from '../testing/port.ts';
import { isRunnableTest } from '../testing/test-files.ts';
import type { Baseline } from '../verification/baseline.ts';
import { countOf, countsOfRun, testKey, testTitle, whyNothingRan } from '../verification/test-key.ts';
import { ignoredNote, type Tests } from './test-runs.ts';
import type { WorktreeContext } from './worktree-item.ts';

/** What the engine says about a tree. */
export interface Judgement {
  /** The tree to continue with, without forbidden changes. */
  tree: string;
  /** Empty: it is accepted. */
  problems: string[];
  /** The gate that these problems belong to. */
  gate: string;
  /** The titles of the new tests, if all of them pass before the code. */
  passing?: readonly string[];
}

/** A tree without forbidden changes, and notes on these for the writer. */
export interface Limited {
  tree: string;
  notes: string[];
}

/** Instead of a failure: the item ends, or the writer is called again with these failures. */
export type Instead = 'end' | { failures: readonly string[] };

export interface Writing {
  phase: WritingPhase;
  /** `tests`, `code`, `revise-1`: a step's name is this and the number of the call. */
  name: string;
  start: string;
  /** The whole task; from the second call on with what the engine found. */
  task: (failures: readonly string[], round: number) => string;
  judge: (tree: string, step: string, round: number) => Promise<Judgement>;
  /** Called before the item fails, when the calls are used up; null: it fails. */
  instead?: (judgement: Judgement, round: number) => Promise<Instead | null>;
  /** Undoes what is forbidden, before the set-up runs; `failures`: of the call before. */
  limit?: (tree: string, step: string, failures: readonly string[]) => Promise<Limited>;
}

type WritingContext = WorktreeContext & { writer: Writer };

/**
 * Calls the writer until the engine accepts what is in the worktree, at most `maxRounds` times in one run. A later run of an
 * item that failed like this gets as many calls again, on top of what was written.
 */
export function createWriterCalls(context: WritingContext, tests: Tests | null) {
  const { worktree, maxRounds, mask, portable, spending, models, setUp } = context;
  const authors: Record<WritingPhase, Set<string>> = { tests: new Set(), code: new Set() };
  const call = async (step: string, phase: WritingPhase, tree: string, task: string): Promise<string> => {
    const written = await callWriter(context, { step, phase, tree, task, tests });
    const model = models.last('implementer');
    spending.add('implementer', model, written);
    authors[phase].add(mask(written.answered ?? portable(model)));
    return written.tree;
  };
  return {
    /** The models that wrote in each phase. */
    authors,
    /** Returns the tree whose work is accepted, or with which `instead` ends it. */
    write: async ({ phase, name, start, task, judge, limit, instead }: Writing): Promise<string> => {
      const judged = async (written: string, step: string, round: number): Promise<Judgement> => {
        if (phase === 'tests') return judge(written, step, round);
        const limited = (await limit?.(written, step, failures)) ?? { tree: written, notes: [] };
        const installed = await setUp.afterWriting(tree, limited.tree, step);
        if (installed.problem !== null)
          return { tree: installed.tree, problems: [installed.problem, ...limited.notes], gate: 'set-up' };
        const judgement = await judge(installed.tree, step, round);
        const { problems } = judgement;
        return problems.length === 0 ? judgement : { ...judgement, problems: [...problems, ...limited.notes] };
      };
      let tree = start;
      let failures: readonly string[] = [];
      let calls = 0;
      for (let round = 1; ; round++) {
        const step = `${name}-${round}`;
        const written = await call(step, phase, tree, task(failures, round));
        const judgement = await judged(written, step, round);
        if (judgement.problems.length === 0) return judgement.tree;
        tree = judgement.tree;
        failures = judgement.problems;
        calls += 1;
        if (calls < maxRounds) continue;
        const other = (await instead?.(judgement, round)) ?? null;
        if (other === 'end') return tree;
        if (other !== null) {
          ({ failures } = other);
          calls = 0;
          continue;
        }
        const { replayed } = await context.step({ name: `${step}-given-up`, inputs: { tree } }, async () => ({
          round,
        }));
        if (!replayed) {
          await context.checkout.check();
          await worktree.restore(tree);
          const { directory, branch } = worktree;
          const { gate } = judgement;
          throw new AgentosError({ code: 'gate-failed', gate, problems: [...failures], worktree: directory, branch });
        }
        calls = 0;
      }
    },
  };
}

interface WriterCall {
  phase: WritingPhase;
  step: string;
  tree: string;
  task: string;
  tests: Tests | null;
}

async function callWriter(context: WritingContext, call: WriterCall): Promise<WriteReply & { tree: string }> {
  const { phase, step, tree, task, tests } = call;
  const { id, writer, worktree, journal, emit, onProgress, signal, clock, mask, checkout } = context;
  const system = context.prompts.fill('implementer');
  const run = async ({ id: stepId, earlierStarts }: StepContext): Promise<WriteReply & { tree: string }> => {
    // An agent that was killed continues with the files it has, if the worktree is still there; other writers start over.
    const continues = writer.writesByItself && earlierStarts > 0 && !context.isNewWorktree;
    if (!continues) await worktree.restore(tree);
    let durationMs = 0;
    const write = async (): Promise<WriteReply> => {
      const startedAt = clock.now();
      const reply = await writer.write({
        step,
        stepId,
        worktree: worktree.directory,
        system,
        task,
        item: id,
        phase,
        journal,
        ...(tests === null ? {} : { runTests: createTrials(context, tests, { step, phase, start: tree }) }),
        signal,
        onProgress,
        onLine: boundedLines((line) => emit({ type: 'output-line', stream: 'stdout', line: mask(line) })),
      });
      durationMs = clock.now() - startedAt;
      return reply;
    };
    const reply = await (writer.writesByItself ? checkout.before(write) : write());
    const { text, answered, usage, metered, costUsd } = reply;
    emit({
      type: 'model-answered',
      step,
      role: 'implementer',
      asked: writer.spec,
      answered,
      promptHash: sha256(`${system}\n\n${task}`),
      replyHash: sha256(text),
      usage,
      metered,
      costUsd,
      durationMs,
    });
    return { ...reply, tree: await worktree.snapshot(), text: mask(text) };
  };
  const keyOf = (spec: string) => ({ name: step, inputs: { writer: spec, system, task, tree } });
  const model = context.models.pick('implementer', writer.spec, keyOf);
  const { value } = await checkout.checked(() => context.step({ ...keyOf(model), model }, run));
  return value;
}

type TrialsContext = Pick<WorktreeContext, 'worktree' | 'setUp' | 'journal' | 'config' | 'mask' | 'portable'>;

interface Trial {
  text: string;
  summary: string;
  durationMs: number;
}

/** In one call of the writer. No run starts after all of them took as long as one run of the tests may take. */
const MOST_RUNS = 10;

/**
 * Test runs for a writer while it works, in a call that began with the tree `start`. They prove nothing: the gates run the
 * tests again. Each is a durable step (`code-1-run-2`) with the text for the writer, because the same files may fail with
 * another message the next time. After it the worktree holds only the writer's files, also if the step was replayed.
 */
export function createTrials(
  { worktree, setUp, journal, config, mask, portable }: TrialsContext,
  { suite, runs, baseline }: Tests,
  { step, phase, start }: { step: string; phase: WritingPhase; start: string },
): NonNullable<WriteRequest['runTests']> {
  let count = 0;
  let spentMs = 0;
  const tryOut = async (name: string, tree: string, files: readonly string[] | null): Promise<Trial> => {
    // In the tests phase nothing is installed, as for the gates.
    const isCode = phase === 'code';
    const installed = isCode ? await setUp.afterWriting(start, tree, name) : { tree, problem: null };
    if (installed.problem !== null) return { text: installed.problem, summary: 'the set-up failed', durationMs: 0 };
    const asked = { step: name, tree: installed.tree, installs: isCode, ...(files === null ? {} : { files }) };
    const run = await runs.once(asked);
    const text = [describeTrial(run, baseline), ...ignoredNote(run.dropped)].join('\n\n');
    return { text: mask(portable(text)), summary: run.outcome, durationMs: run.durationMs };
  };

  return async (files) => {
    if (count >= MOST_RUNS) return { refused: `the tests ran ${MOST_RUNS} times already, and no more` };
    if (spentMs >= config.tests.timeoutMs) return { refused: 'the runs of the tests took too long already' };
    const tree = await worktree.snapshot();
    for (const file of files ?? []) {
      const isTest = suite.isTestFile(file) && isRunnableTest(file) && !file.startsWith('-');
      if (!isTest) return { refused: `${file} is not the name of a test file` };
      if ((await worktree.read(tree, file)) === null) return { refused: `there is no ${file}` };
    }
    count += 1;
    const name = `${step}-run-${count}`;
    const inputs = { tree, command: suite.command, files };
    const { value } = await journal.step({ name, inputs }, () => tryOut(name, tree, files));
    await worktree.restore(tree);
    await worktree.dropIgnored();
    spentMs += value.durationMs;
    return { text: value.text, summary: value.summary };
  };
}

const MOST_FAILURES = 20;
const MOST_MESSAGE = 1_500;
const MOST_CHARS = 16_000;
const MOST_TAIL = 4_000;

/** A run for a writer: the counts, and what failed and why; without a report, the end of the output. */
export function describeTrial(run: TestRun, baseline: Pick<Baseline, 'others' | 'notLoaded'>): string {
  const why = whyNothingRan(run);
  if (why !== null) return [`${why}.`, ...(isRead(run) ? [] : [run.tail.slice(-MOST_TAIL)])].join('\n\n');
  const { passed, failed, skipped, notLoaded } = countsOfRun(run);
  const more = [
    ...(skipped > 0 ? [`${skipped} skipped`] : []),
    ...(notLoaded > 0 ? [`${countOf(notLoaded, 'file')} could not be loaded`] : []),
  ];
  const knownTests = new Set(baseline.others);
  const knownFiles = new Set(baseline.notLoaded);
  const before = (isKnown: boolean): string => (isKnown ? ' (before your change too)' : '');
  const failures = [
    ...run.loadFailures.map(({ file, message }) => ({
      title: `Not loaded: ${file ?? 'a test file'}${before(knownFiles.has(file ?? ''))}`,
      message,
    })),
    ...run.cases
      .filter(({ outcome }) => outcome === 'failed')
      .map((test) => ({
        title: `Failed: ${testTitle(test)}${before(knownTests.has(testKey(test)))}`,
        message: test.message ?? '',
      })),
  ];
  const blocks: string[] = [];
  let room = MOST_CHARS;
  for (const { title, message } of failures.slice(0, MOST_FAILURES)) {
    const text = message.trim();
    const cut = text.length > MOST_MESSAGE ? `${text.slice(0, MOST_MESSAGE)} …` : text;
    const block = [title, ...cut.split('\n').filter((line) => line !== '')].join('\n  ');
    if (block.length > room) break;
    room -= block.length;
    blocks.push(block);
  }
  const left = failures.length - blocks.length;
  return [
    `${run.command}: ${[`${passed} passed`, `${failed} failed`, ...more].join(', ')}.`,
    ...blocks,
    ...(left > 0 ? [`… and ${left} more failures`] : []),
  ].join('\n\n');
}
