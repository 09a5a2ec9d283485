import type { WriteReply, WritingPhase } from '../agent/port.ts';
import { AgentosError } from '../core/errors.ts';
import { sha256 } from '../core/hash.ts';
import { boundedLines } from '../core/lines.ts';
import type { StepContext } from '../journal/port.ts';
import { createTrials, type Tests } from './tests.ts';
import type { WorktreeContext } from './worktree-item.ts';

/** What the engine says about a call of the writer. Without problems, it is accepted. */
export interface Judgement {
  problems: string[];
  /** The gate that these problems belong to. */
  gate: string;
  /** The titles of the new tests, if all of them pass before the code. */
  passing?: readonly string[];
}

/** What a call of the writer left, without forbidden changes. */
export interface Written {
  tree: string;
  step: string;
  round: number;
  /** The writer's final message. */
  said: string;
}

export interface WritingGates {
  /**
   * Undoes what is forbidden, before the set-up runs. `named`: the engine's problems with the calls before, whose files may be
   * changed. Returns notes for the writer.
   */
  limit: (tree: string, step: string, named: readonly string[]) => Promise<{ tree: string; notes: string[] }>;
  judge: (written: Written) => Promise<Judgement>;
}

interface Writing<End> {
  phase: WritingPhase;
  /** `tests`, `code`, `revise-1`: a step's name is this and the number of the call. */
  name: string;
  start: string;
  /** The whole task, with what the engine or a reviewer found. */
  task: (failures: readonly string[], round: number) => string;
  /** For the first call. */
  failures?: readonly string[];
  gates: WritingGates;
  /** Called before the item fails, when the calls are used up: the item's end, failures for further calls, or null: it fails. */
  instead?: (written: Written, judgement: Judgement) => Promise<End | readonly string[] | null>;
}

/**
 * Calls the writer until the engine accepts what is in the worktree, at most `maxRounds` times in one run. A later run of an
 * item that failed like this gets as many calls again, on top of what was written.
 */
export function createWriterCalls(context: WorktreeContext, tests: Tests | null) {
  const { writer, worktree, maxRounds, mask, checkout, setUp, emit, journal, models } = context;
  const authors: Record<WritingPhase, Set<string>> = { tests: new Set(), code: new Set() };
  const system = context.prompts.fill('implementer');

  const call = async (
    step: string,
    phase: WritingPhase,
    start: string,
    task: string,
  ): Promise<WriteReply & { tree: string }> => {
    const run = async ({ earlierStarts }: StepContext): Promise<WriteReply & { tree: string }> => {
      // An agent that was killed continues with the files it has, if the worktree is still there; other writers start over.
      const continues = writer.writesByItself && earlierStarts > 0 && !context.isNewWorktree;
      if (!continues) await worktree.restore(start);
      let durationMs = 0;
      const write = async (): Promise<WriteReply> => {
        const startedAt = context.clock.now();
        const reply = await writer.write({
          step,
          worktree: worktree.directory,
          system,
          task,
          item: context.id,
          phase,
          journal,
          ...(tests === null ? {} : { runTests: createTrials(context, tests, { step, phase, start }) }),
          signal: context.signal,
          onProgress: context.onProgress,
          onLine: boundedLines((line) => emit({ type: 'output-line', stream: 'stdout', line: mask(line) })),
        });
        durationMs = context.clock.now() - startedAt;
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
    const keyOf = (spec: string) => ({ name: step, inputs: { writer: spec, system, task, tree: start } });
    const model = models.pick('implementer', writer.spec, keyOf);
    const { value } = await checkout.checked(() => context.step({ ...keyOf(model), model }, run));
    context.spending.add('implementer', model, value);
    authors[phase].add(mask(value.answered ?? context.portable(model)));
    return value;
  };

  return {
    /** The models that wrote in each phase. */
    authors,
    /** Returns the tree whose work is accepted, or the end that `instead` gives. */
    write: async <End = never>({
      phase,
      name,
      start,
      task,
      gates,
      instead,
      ...first
    }: Writing<End>): Promise<string | End> => {
      let tree = start;
      let { failures = [] } = first;
      const named: string[] = [];
      for (let round = 1, calls = 1; ; round++, calls++) {
        const step = `${name}-${round}`;
        const reply = await call(step, phase, tree, task(failures, round));
        const limited = await gates.limit(reply.tree, step, named);
        // In the tests phase nothing is installed.
        const installed =
          phase === 'code' ? await setUp.afterWriting(tree, limited.tree, step) : { tree: limited.tree, problem: null };
        ({ tree } = installed);
        const written = { tree, step, round, said: reply.text };
        const judgement =
          installed.problem === null ? await gates.judge(written) : { problems: [installed.problem], gate: 'set-up' };
        if (judgement.problems.length === 0) return tree;
        named.push(...judgement.problems);
        failures = [...judgement.problems, ...limited.notes];
        if (calls < maxRounds) continue;
        const other = (await instead?.(written, judgement)) ?? null;
        if (other !== null && !isFailures(other)) return other;
        calls = 0;
        if (other !== null) {
          failures = other;
          continue;
        }
        const givenUp = await context.step({ name: `${step}-given-up`, inputs: { tree } }, async () => ({ round }));
        if (givenUp.replayed) continue;
        await checkout.check();
        await worktree.restore(tree);
        const { directory, branch } = worktree;
        const { gate } = judgement;
        throw new AgentosError({ code: 'gate-failed', gate, problems: [...failures], worktree: directory, branch });
      }
    },
  };
}

function isFailures(other: unknown): other is readonly string[] {
  return Array.isArray(other);
}
