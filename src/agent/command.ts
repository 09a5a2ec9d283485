import { LONGEST_MS } from '../core/duration.ts';
import { AgentosError } from '../core/errors.ts';
import type { CommandSpec } from '../core/model-spec.ts';
import { detailOf, reasonIn } from '../core/reason.ts';
import {
  type CallOptions,
  MAX_REPLY_BYTES,
  type Provider,
  promptText,
  UNMETERED,
  withinBounds,
} from '../models/port.ts';
import { type ProgramEnd, type ProgramOptions, runTaggedProgram } from '../process/program.ts';
import type { Writer } from './port.ts';

export type CommandOptions = Omit<CallOptions, 'token' | 'endpointOf'>;

interface CommandCall extends Pick<ProgramOptions, 'cwd' | 'env' | 'onLine' | 'keepBytes'> {
  may: 'read' | 'write';
  /** Its stdin. */
  prompt: string;
  signal: AbortSignal;
  onProgress: () => void;
}

/** Runs a user's command within its bounds. Throws if it fails. */
function runCommand(
  { command, text: spec }: CommandSpec,
  { sandbox: open, onGroup, mask, ...limits }: CommandOptions,
  { may, prompt, signal, onProgress, ...call }: CommandCall,
): Promise<ProgramEnd> {
  return withinBounds({ what: spec, limits, signal }, async ({ signal: until, alive }) => {
    const sandbox = await open?.({ worktree: call.cwd, may, env: limits.env, command, network: ['models'] });
    const end = await runTaggedProgram({
      ...call,
      command,
      sandbox,
      input: `${prompt}\n`,
      onGroup,
      mask,
      signal: until,
      // The bounds of the call end it earlier.
      timeoutMs: LONGEST_MS,
      onProgress: () => {
        alive();
        onProgress();
      },
    });
    if (end.exitCode === 0) return end;
    const { exitCode, signal: killed, missing, tail } = end;
    const problem = {
      code: 'command-failed',
      command,
      exitCode,
      signal: killed,
      detail: detailOf(reasonIn(tail)),
    } as const;
    const where = sandbox === undefined ? {} : { sandboxed: true };
    throw new AgentosError({ ...problem, ...where }, { retry: missing ? 'permanent' : 'transient' });
  });
}

/** A shell command as a model: the prompt on stdin, the reply on stdout. `onLine`: called with each line of its stderr. */
export function createCommandProvider(
  spec: CommandSpec,
  options: CommandOptions & { onLine?: (line: string) => void },
): Provider {
  const provider = spec.text;
  return {
    spec: provider,
    isModel: true,
    complete: ({ system, parts, signal, onProgress, inFolder }) =>
      inFolder(async (cwd) => {
        const tooLarge = new AbortController();
        let outputChars = 0;
        const { stdout: text } = await runCommand(spec, options, {
          may: 'read',
          cwd,
          env: options.env,
          prompt: promptText([{ text: system }, ...parts]),
          signal: AbortSignal.any([signal, tooLarge.signal]),
          onProgress: () => onProgress?.({ outputChars }),
          onLine: (line, stream) => {
            if (stream === 'stderr') return options.onLine?.(line);
            outputChars += line.length + 1;
            if (outputChars > MAX_REPLY_BYTES)
              tooLarge.abort(new AgentosError({ code: 'reply-too-large', provider, limitBytes: MAX_REPLY_BYTES }));
          },
        });
        if (text.trim() === '') throw new AgentosError({ code: 'reply-empty', provider }, { retry: 'transient' });
        return { text, asked: provider, substituted: false, ...UNMETERED };
      }),
  };
}

/** A shell command as implementer: the task on stdin; the files that it changes are its work. */
export function createCommandWriter(spec: CommandSpec, options: CommandOptions): Writer {
  return {
    spec: spec.text,
    isModel: true,
    writesByItself: true,
    async write({ worktree, system, task, item, phase, signal, onProgress, onLine }) {
      await runCommand(spec, options, {
        may: 'write',
        cwd: worktree,
        env: { ...options.env, AGENTOS_PHASE: phase, AGENTOS_ITEM: item },
        prompt: promptText([{ text: system }, { text: task }]),
        signal,
        // Its output is logged line by line.
        keepBytes: 0,
        onProgress,
        onLine,
      });
      return { text: '', ...UNMETERED, costUsd: null };
    },
  };
}
