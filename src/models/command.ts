import { LONGEST_MS } from '../core/duration.ts';
import { AgentosError } from '../core/errors.ts';
import type { CommandSpec } from '../core/model-spec.ts';
import { NO_USAGE } from '../core/money.ts';
import { reasonIn } from '../core/reason.ts';
import type { ProgramEnd } from '../process/program.ts';
import { runTaggedProgram } from '../process/remains.ts';
import type { OpenSandbox } from '../process/sandbox/sandbox.ts';
import { type CallLimits, MAX_REPLY_BYTES, withinBounds } from './call-bounds.ts';
import { detailOf } from './detail.ts';
import { type Provider, promptText } from './port.ts';

export interface CommandOptions extends CallLimits {
  /** All that the command sees of the environment. */
  env: Readonly<Record<string, string>>;
  /** Absent: it runs without one. */
  sandbox?: OpenSandbox | undefined;
  /** Each line that it writes to stderr. */
  onLine?: ((line: string) => void) | undefined;
  /** Hides secrets in its lines. */
  mask?: ((text: string) => string) | undefined;
  /** Gets the process group that a call runs in, so that another process can end it should this one die. */
  onGroup?: ((leader: number, ended: boolean) => void) | undefined;
}

/** A shell command as a model: the prompt on stdin, the reply on stdout. */
export function createCommandProvider({ command, text: spec }: CommandSpec, options: CommandOptions): Provider {
  const { env, onLine, onGroup, mask } = options;
  return {
    spec,
    isModel: true,
    complete: ({ system, parts, signal, onProgress, inFolder }) =>
      inFolder((cwd) =>
        withinBounds({ what: spec, limits: options, signal }, async (call) => {
          const tooLarge = new AbortController();
          let outputChars = 0;
          const sandbox = await options.sandbox?.({ worktree: cwd, may: 'read', env, command, network: ['models'] });
          const end = await runTaggedProgram({
            command,
            cwd,
            env,
            sandbox,
            input: `${promptText([{ text: system }, ...parts])}\n`,
            onGroup,
            mask,
            signal: AbortSignal.any([call.signal, tooLarge.signal]),
            // The call's own bounds end it earlier.
            timeoutMs: LONGEST_MS,
            onProgress: () => {
              call.alive();
              onProgress?.({ outputChars });
            },
            onLine: (line, stream) => {
              if (stream === 'stderr') return onLine?.(line);
              outputChars += line.length + 1;
              const problem = { code: 'reply-too-large', provider: spec, limitBytes: MAX_REPLY_BYTES } as const;
              if (outputChars > MAX_REPLY_BYTES) tooLarge.abort(new AgentosError(problem));
            },
          });
          if (end.exitCode !== 0) throw commandFailed(command, end, sandbox !== undefined);
          const text = end.stdout;
          if (text.trim() === '')
            throw new AgentosError({ code: 'reply-empty', provider: spec }, { retry: 'transient' });
          return { text, asked: spec, answered: null, substituted: false, usage: NO_USAGE, metered: false };
        }),
      ),
  };
}

export function commandFailed(
  command: string,
  { exitCode, signal, missing, tail }: ProgramEnd,
  sandboxed: boolean,
): AgentosError {
  const problem = { code: 'command-failed', command, exitCode, signal, detail: detailOf(reasonIn(tail)) } as const;
  const where = sandboxed ? { sandboxed } : {};
  return new AgentosError({ ...problem, ...where }, { retry: missing ? 'permanent' : 'transient' });
}
