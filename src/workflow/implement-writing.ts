import { join } from 'node:path';
import type { WriteReply, Writer, WritingPhase } from '../agent/port.ts';
import { AgentosError } from '../core/errors.ts';
import type { ItemEvent } from '../core/events.ts';
import { sha256 } from '../core/hash.ts';
import { boundedLines } from '../core/lines.ts';
import type { Usage } from '../core/money.ts';
import type { Worktree } from '../git/worktree/worktree.ts';
import type { Journal } from '../journal/port.ts';
import { writeFileAtomic } from '../process/atomic-file.ts';
import type { Durable } from './durable.ts';
import type { OutsideWatch } from './outside-watch.ts';

export interface WritingOptions {
  writer: Writer;
  worktree: Worktree;
  journal: Journal;
  durable: Durable;
  emit: (event: ItemEvent) => void;
  onProgress: () => void;
  signal: AbortSignal;
  clock: { now(): number };
  maxRounds: number;
  /** For agents that write by themselves. */
  outside: OutsideWatch;
  /** Where patches of what was undone are kept. */
  undoneFolder: string;
  item: string;
  system: string;
  mask: (text: string) => string;
  /** Told of every call, also of one that is taken from the journal. */
  onWritten: (written: Pick<Written, 'answered' | 'costUsd' | 'usage' | 'metered'>, phase: WritingPhase) => void;
}

/** What the engine says of a state of the worktree. */
export interface Judgement {
  /** The state to go on with: what may not stay is undone in it. */
  tree: string;
  /** Nothing: it is accepted. */
  problems: string[];
  /** The gate that these problems belong to. */
  gate: string;
}

export interface Writing {
  phase: WritingPhase;
  /** `tests`, `code`, `revise-1`: steps are numbered behind it. */
  name: string;
  start: string;
  /** The whole task; from the second call on with what the engine found. */
  task: (failures: readonly string[], round: number) => string;
  judge: (tree: string, step: string, round: number) => Promise<Judgement>;
}

interface Written {
  tree: string;
  text: string;
  /** The model that wrote, as its vendor says; null where nobody says. */
  answered: string | null;
  costUsd: number | null;
  usage: Usage;
  metered: boolean;
}

/**
 * Calls the writer until the engine accepts what is in the worktree, at most so many times in one run. A later run of an
 * item that failed so goes on with as many calls more: what was written and found is kept.
 */
export function createWriting(options: WritingOptions): (writing: Writing) => Promise<string> {
  const { worktree, durable, maxRounds } = options;
  const call = createWriterCall(options);
  return async ({ phase, name, start, task, judge }) => {
    let tree = start;
    let failures: readonly string[] = [];
    let calls = 0;
    for (let round = 1; ; round++) {
      const step = `${name}-${round}`;
      const written = await call({ phase, step, tree, task: task(failures, round) });
      const judgement = await judge(written, step, round);
      if (judgement.problems.length === 0) return judgement.tree;
      tree = judgement.tree;
      failures = judgement.problems;
      calls += 1;
      if (calls < maxRounds) continue;
      const { replayed } = await durable({ name: `${step}-given-up`, inputs: { tree } }, async () => ({ round }));
      if (!replayed) {
        await options.outside.check();
        await worktree.restore(tree);
        const { directory, branch } = worktree;
        throw new AgentosError({
          code: 'gate-failed',
          gate: judgement.gate,
          problems: [...failures],
          worktree: directory,
          branch,
        });
      }
      calls = 0;
    }
  };
}

interface WriterCall {
  phase: WritingPhase;
  step: string;
  tree: string;
  task: string;
}

function createWriterCall(options: WritingOptions) {
  const { writer, worktree, journal, durable, emit, onProgress, signal, clock, item, system, mask } = options;
  return async ({ phase, step, tree, task }: WriterCall): Promise<string> => {
    const called = { name: step, inputs: { writer: writer.spec, system, task, tree }, model: writer.spec };
    const { value } = await options.outside.checked(() =>
      durable<Written>(called, async ({ id: stepId, earlierStarts }) => {
        // An agent that was stopped in the middle goes on with what it has; one that is replayed begins anew.
        if (!writer.writesByItself || earlierStarts === 0) await worktree.restore(tree);
        let durationMs = 0;
        const write = async (): Promise<WriteReply> => {
          const startedAt = clock.now();
          const reply = await writer.write({
            step,
            stepId,
            worktree: worktree.directory,
            system,
            task,
            item,
            phase,
            journal,
            signal,
            onProgress,
            onLine: boundedLines((line) => emit({ type: 'output-line', stream: 'stdout', line: mask(line) })),
          });
          durationMs = clock.now() - startedAt;
          return reply;
        };
        const reply = await (writer.writesByItself ? options.outside.before(write) : write());
        emit({
          type: 'model-answered',
          step,
          role: 'implementer',
          asked: writer.spec,
          answered: reply.answered,
          promptHash: sha256(`${system}\n\n${task}`),
          replyHash: sha256(reply.text),
          usage: reply.usage,
          metered: reply.metered,
          costUsd: reply.costUsd,
          durationMs,
        });
        const { text, answered, costUsd, usage, metered } = reply;
        return { tree: await worktree.snapshot(), text: mask(text), answered, costUsd, usage, metered };
      }),
    );
    options.onWritten(value, phase);
    return value.tree;
  };
}

/** Puts paths back as they are in `source`; what they were is kept as a patch, so that nothing is lost. */
export async function undo(
  { worktree, undoneFolder, emit, mask }: Pick<WritingOptions, 'worktree' | 'undoneFolder' | 'emit' | 'mask'>,
  { tree, source, paths, step, why }: { tree: string; source: string; paths: string[]; step: string; why: string },
): Promise<string> {
  if (paths.length === 0) return tree;
  const kept = await worktree.withPathsFrom(tree, source, paths);
  const patch = join(undoneFolder, `${step}.patch`);
  await writeFileAtomic(patch, mask(await worktree.diff(kept, tree)));
  emit({ type: 'changes-undone', step, paths, why, patch });
  return kept;
}
