import { LONGEST_MS } from '../core/duration.ts';
import { AgentosError } from '../core/errors.ts';
import type { CommandSpec } from '../core/model-spec.ts';
import { NO_USAGE } from '../core/money.ts';
import { runProgram } from '../process/program.ts';
import { type CallLimits, MAX_REPLY_BYTES, withinBounds } from './call-bounds.ts';
import { detailOf } from './detail.ts';
import type { ModelRequest, Provider } from './port.ts';
import { promptText } from './prompt-text.ts';

export interface CommandOptions extends CallLimits {
  spec: CommandSpec;
  cwd: string;
  /** All that the command sees of the environment. */
  env: Readonly<Record<string, string>>;
  /** Each line that it writes to stderr. */
  onLine?: ((line: string) => void) | undefined;
  /** Gets the process group that a call runs in, so that another process can end it should this one die. */
  onGroup?: ((leader: number, ended: boolean) => void) | undefined;
}

/** A shell command as a model: the prompt on stdin, the reply on stdout. */
export function createCommandProvider({ spec, cwd, env, onLine, onGroup, ...limits }: CommandOptions): Provider {
  return {
    spec: spec.text,
    isModel: true,
    complete: (request) =>
      withinBounds({ what: spec.text, limits, signal: request.signal }, async ({ signal, alive }) => {
        const text = await run({ command: spec.command, cwd, env, onLine, onGroup, request, signal, alive });
        if (text.trim() === '')
          throw new AgentosError({ code: 'reply-empty', provider: spec.text }, { retry: 'transient' });
        return { text, asked: spec.text, answered: null, substituted: false, usage: NO_USAGE, metered: false };
      }),
  };
}

interface Run extends Pick<CommandOptions, 'cwd' | 'env' | 'onLine' | 'onGroup'> {
  command: string;
  request: ModelRequest;
  signal: AbortSignal;
  alive: () => void;
}

const KEPT_LINES = 20;

async function run({ command, cwd, env, onLine, onGroup, request, signal, alive }: Run): Promise<string> {
  const lastLines: string[] = [];
  let chars = 0;
  const tooLarge = new AbortController();
  const { exitCode, ...end } = await runProgram({
    command,
    cwd,
    env,
    input: `${promptText([{ text: request.system }, ...request.parts])}\n`,
    onGroup,
    signal: AbortSignal.any([signal, tooLarge.signal]),
    // The call's own bounds end it earlier.
    timeoutMs: LONGEST_MS,
    onProgress: () => {
      alive();
      request.onProgress?.({ outputChars: chars });
    },
    onLine: (line, stream) => {
      if (stream === 'stderr') {
        onLine?.(line);
        lastLines.push(line);
        if (lastLines.length > KEPT_LINES) lastLines.shift();
        return;
      }
      chars += line.length + 1;
      if (chars > MAX_REPLY_BYTES) {
        const problem = {
          code: 'reply-too-large',
          provider: `command:${command}`,
          limitBytes: MAX_REPLY_BYTES,
        } as const;
        tooLarge.abort(new AgentosError(problem));
      }
    },
  });
  if (exitCode === 0) return end.stdout;
  // The end of what it said, because programs explain themselves last.
  const detail = detailOf((lastLines.join(' ').trim() || end.stdout || end.tail).slice(-300));
  throw new AgentosError(
    { code: 'command-failed', command, exitCode, signal: end.signal, detail },
    { retry: end.missing ? 'permanent' : 'transient' },
  );
}
