import type { WriteReply, Writer, WritingPhase } from '../agent/port.ts';
import { AgentosError } from '../core/errors.ts';
import { sha256 } from '../core/hash.ts';
import { boundedLines } from '../core/lines.ts';
import type { StepContext } from '../journal/port.ts';
import type { Tests } from './test-runs.ts';
import { createTrials } from './trials.ts';
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

/** Calls the writer, and records who wrote what. */
export interface WriterCalls {
  /** Calls the writer until its work is accepted or `instead` ends it; returns the tree. */
  write: (writing: Writing) => Promise<string>;
  /** The models that wrote in each phase. */
  authors: Record<WritingPhase, ReadonlySet<string>>;
}

type WritingContext = WorktreeContext & { writer: Writer };

/**
 * Calls the writer until the engine accepts what is in the worktree, at most `maxRounds` times in one run. A later run of an
 * item that failed like this gets as many calls again, on top of what was written.
 */
export function createWriterCalls(context: WritingContext, tests: Tests | null): WriterCalls {
  const { worktree, maxRounds, mask, portable, spending, models, setUp } = context;
  const authors = { tests: new Set<string>(), code: new Set<string>() };
  const call = async (step: string, phase: WritingPhase, tree: string, task: string): Promise<string> => {
    const written = await callWriter(context, { step, phase, tree, task, tests });
    const model = models.last('implementer');
    spending.add('implementer', model, written);
    authors[phase].add(mask(written.answered ?? portable(model)));
    return written.tree;
  };
  return {
    authors,
    async write({ phase, name, start, task, judge, limit, instead }) {
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
