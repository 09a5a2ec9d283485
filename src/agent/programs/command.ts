import { LONGEST_MS } from '../../core/duration.ts';
import { AgentosError } from '../../core/errors.ts';
import type { CommandSpec } from '../../core/model-spec.ts';
import { NO_USAGE } from '../../core/money.ts';
import { type CallLimits, withinBounds } from '../../models/call-bounds.ts';
import { detailOf } from '../../models/detail.ts';
import { promptText } from '../../models/prompt-text.ts';
import type { ProgramEnd } from '../../process/program.ts';
import { runTaggedProgram } from '../../process/remains.ts';
import type { Writer } from '../port.ts';

export interface CommandWriterOptions extends CallLimits {
  spec: CommandSpec;
  /** All that the command sees of the environment. */
  env: Readonly<Record<string, string>>;
  /** Called with the process group of a call, so that another process can end it should this one die. */
  onGroup?: ((leader: number, ended: boolean) => void) | undefined;
  /** Marks what a call started. */
  tagVariable: string;
}

/** Its output is log, and goes there line by line. */
const KEEP_BYTES = 0;

/** A shell command of the user's own as implementer: the task on stdin, the files it changes are its work. */
export function createCommandWriter(options: CommandWriterOptions): Writer {
  const { spec, env, onGroup, tagVariable, idleTimeoutMs, ceilingMs } = options;
  return {
    spec: spec.text,
    isModel: true,
    writesByItself: true,
    write: ({ worktree, system, task, item, phase, signal, onProgress, onLine }) =>
      withinBounds({ what: spec.text, limits: { idleTimeoutMs, ceilingMs }, signal }, async (call) => {
        const end = await runTaggedProgram({
          command: spec.command,
          cwd: worktree,
          env: { ...env, AGENTOS_PHASE: phase, AGENTOS_ITEM: item },
          input: `${promptText([{ text: system }, { text: task }])}\n`,
          onGroup,
          tagVariable,
          signal: call.signal,
          // The call's own bounds end it earlier.
          timeoutMs: LONGEST_MS,
          keepBytes: KEEP_BYTES,
          onProgress: () => {
            call.alive();
            onProgress();
          },
          onLine,
        });
        if (end.exitCode !== 0) throw failed(spec.command, end);
        return { text: '', answered: null, usage: NO_USAGE, metered: false, costUsd: null };
      }),
  };
}

function failed(command: string, { exitCode, signal, missing, tail }: ProgramEnd): AgentosError {
  // The end of what it said, because programs explain themselves last.
  const detail = detailOf(tail.slice(-300));
  const retry = missing ? 'permanent' : 'transient';
  return new AgentosError({ code: 'command-failed', command, exitCode, signal, detail }, { retry });
}
