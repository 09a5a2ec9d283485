import { LONGEST_MS } from '../../core/duration.ts';
import type { CommandSpec } from '../../core/model-spec.ts';
import { NO_USAGE } from '../../core/money.ts';
import { withinBounds } from '../../models/call-bounds.ts';
import { commandFailed } from '../../models/command.ts';
import { promptText } from '../../models/port.ts';
import { runTaggedProgram } from '../../process/remains.ts';
import type { WriterDependencies } from '../create.ts';
import type { Writer } from '../port.ts';

export type CommandWriterOptions = Pick<
  WriterDependencies,
  'env' | 'sandbox' | 'onGroup' | 'idleTimeoutMs' | 'ceilingMs'
> &
  Partial<Pick<WriterDependencies, 'mask'>>;

/** A shell command of the user's own as implementer: the task on stdin, the files it changes are its work. */
export function createCommandWriter({ command, text: spec }: CommandSpec, options: CommandWriterOptions): Writer {
  return {
    spec,
    isModel: true,
    writesByItself: true,
    write: ({ worktree, system, task, item, phase, signal, onProgress, onLine }) =>
      withinBounds({ what: spec, limits: options, signal }, async (call) => {
        const wish = { worktree, may: 'write', env: options.env, command, network: ['models'] } as const;
        const sandbox = await options.sandbox?.(wish);
        const end = await runTaggedProgram({
          command,
          cwd: worktree,
          sandbox,
          env: { ...options.env, AGENTOS_PHASE: phase, AGENTOS_ITEM: item },
          input: `${promptText([{ text: system }, { text: task }])}\n`,
          onGroup: options.onGroup,
          mask: options.mask,
          signal: call.signal,
          // The call's own bounds end it earlier.
          timeoutMs: LONGEST_MS,
          // Its output is log, and goes there line by line.
          keepBytes: 0,
          onProgress: () => {
            call.alive();
            onProgress();
          },
          onLine,
        });
        if (end.exitCode !== 0) throw commandFailed(command, end, sandbox !== undefined);
        return { text: '', answered: null, usage: NO_USAGE, metered: false, costUsd: null };
      }),
  };
}
