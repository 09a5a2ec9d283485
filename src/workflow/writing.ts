import type { WriteReply, WritingPhase } from '../agent/port.ts';
import { AgentosError } from '../core/errors.ts';
import { sha256 } from '../core/hash.ts';
import { boundedLines } from '../core/lines.ts';
import type { ModelUse, Usage } from '../core/money.ts';
import type { StepContext } from '../journal/port.ts';
import type { ImplementContext } from './implement-item.ts';
import type { Trials } from './trials.ts';

/** What the engine says of a state of the worktree. */
export interface Judgement {
  /** The state to continue with: what may not stay is undone in it. */
  tree: string;
  /** Empty: it is accepted. */
  problems: string[];
  /** The gate that these problems belong to. */
  gate: string;
  /** The titles of the new tests, where all of them pass before the code. */
  passing?: readonly string[];
}

/** Instead of a failure: the item ends, or the writer is called again with this. */
export type Instead = 'end' | { failures: readonly string[] };

export interface Writing {
  phase: WritingPhase;
  /** `tests`, `code`, `revise-1`: the number of the call follows it in the step's name. */
  name: string;
  start: string;
  /** The whole task; from the second call on with what the engine found. */
  task: (failures: readonly string[], round: number) => string;
  judge: (tree: string, step: string, round: number) => Promise<Judgement>;
  /** Asked before the item fails, when the calls are used up; null: it fails. */
  instead?: (judgement: Judgement, round: number) => Promise<Instead | null>;
  /** The state without what may not stay, before anything is installed for it; `failures`: of the call before. */
  limit?: (tree: string, step: string, failures: readonly string[]) => Promise<{ tree: string; notes: string[] }>;
}

interface Written {
  tree: string;
  text: string;
  /** The model that wrote, as its vendor says; null where it doesn't. */
  answered: string | null;
  costUsd: number | null;
  usage: Usage;
  metered: boolean;
  models?: ModelUse[];
}

/** What a call needs of the item that it is for. */
export type WriterContext = Pick<
  ImplementContext,
  | 'id'
  | 'writer'
  | 'worktree'
  | 'setUp'
  | 'isNewWorktree'
  | 'maxRounds'
  | 'prompts'
  | 'journal'
  | 'step'
  | 'spending'
  | 'models'
  | 'checkout'
  | 'clock'
  | 'signal'
  | 'emit'
  | 'onProgress'
  | 'mask'
  | 'portable'
>;

/** Calls the writer, and records who wrote what. */
export interface WriterCalls {
  /** Calls the writer until its work is accepted or `instead` ends it; returns the state of the worktree then. */
  write: (writing: Writing) => Promise<string>;
  /** The models that wrote in each phase. */
  authors: Record<WritingPhase, ReadonlySet<string>>;
}

/**
 * The writer is called until the engine accepts what is in the worktree, at most `maxRounds` times in one run. A later run
 * of an item that failed like this gets as many calls again: what was written and found is kept.
 */
export function createWriterCalls(context: WriterContext, trials: Trials | null): WriterCalls {
  const { worktree, maxRounds, writer, mask, spending, models } = context;
  const authors = { tests: new Set<string>(), code: new Set<string>() };
  const call = async (step: string, phase: WritingPhase, tree: string, task: string): Promise<string> => {
    const value = await callWriter(context, { step, phase, tree, task, trials });
    const model = models.last('implementer') ?? writer.spec;
    spending.add('implementer', model, value);
    authors[phase].add(mask(value.answered ?? context.portable(model)));
    return value.tree;
  };
  return {
    authors,
    async write({ phase, name, start, task, judge, limit, instead }) {
      const judged = async (written: string, step: string, round: number): Promise<Judgement> => {
        if (phase === 'tests') return judge(written, step, round);
        const limited = (await limit?.(written, step, failures)) ?? { tree: written, notes: [] };
        const { tree: installed, problem } = await context.setUp.afterWriting(tree, limited.tree, step);
        const judgement =
          problem === null
            ? await judge(installed, step, round)
            : { tree: installed, problems: [problem], gate: 'set-up' };
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
  trials: Trials | null;
}

async function callWriter(context: WriterContext, call: WriterCall): Promise<Written> {
  const { phase, step, tree, task, trials } = call;
  const { id, writer, worktree, journal, emit, onProgress, signal, clock, mask, checkout } = context;
  const system = context.prompts.fill('implementer');
  const run = async ({ id: stepId, earlierStarts }: StepContext): Promise<Written> => {
    // An agent that was stopped in the middle continues with the files it has, if they are here; other writers start over.
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
        ...(trials === null ? {} : { runTests: trials({ step, phase, start: tree }) }),
        signal,
        onProgress,
        onLine: boundedLines((line) => emit({ type: 'output-line', stream: 'stdout', line: mask(line) })),
      });
      durationMs = clock.now() - startedAt;
      return reply;
    };
    const { text, answered, costUsd, usage, metered, models } = await (writer.writesByItself
      ? checkout.before(write)
      : write());
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
    const used = { costUsd, usage, metered, ...(models === undefined ? {} : { models }) };
    return { tree: await worktree.snapshot(), text: mask(text), answered, ...used };
  };
  const keyOf = (spec: string) => ({ name: step, inputs: { writer: spec, system, task, tree } });
  const model = context.models.pick('implementer', writer.spec, keyOf);
  const { value } = await checkout.checked(() => context.step({ ...keyOf(model), model }, run));
  return value;
}
