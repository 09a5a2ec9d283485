import { join } from 'node:path';
import { AgentosError, type ErrorRecord } from '../core/errors.ts';
import { packageRoot } from '../process/package-root.ts';
import { runProgram } from '../process/program.ts';
import type { AskedContext, ContextOptions, RepositoryContext } from '../prompts/context/context.ts';

/** What the process of `context-main.ts` reads from its standard input. */
export interface ContextRequest {
  repository: string;
  commit: string;
  asked: AskedContext;
  options: ContextOptions;
  /** The file of the index: it is read, and written when something new was found. */
  index: string;
}

export type ContextAnswer = { context: RepositoryContext } | { error: ErrorRecord };

const TIMEOUT_MS = 5 * 60_000;

export interface ContextPlace {
  env: Readonly<Record<string, string>>;
  signal: AbortSignal;
  onGroup: (leader: number, ended: boolean) => void;
  onProgress: () => void;
}

/** In a process of its own: a worker lives as long as its calls and should not hold a repository's words all the time. */
export async function buildContext(request: ContextRequest, place: ContextPlace): Promise<RepositoryContext> {
  const end = await runProgram({
    command: [process.execPath, join(packageRoot(), 'dist', 'context.js')],
    cwd: request.repository,
    input: JSON.stringify(request),
    timeoutMs: TIMEOUT_MS,
    ...place,
  });
  if (end.exitCode === 0) {
    const answer = JSON.parse(end.stdout) as ContextAnswer;
    if ('context' in answer) return answer.context;
    throw new AgentosError(answer.error.problem, { retry: answer.error.retry });
  }
  const detail = end.timedOut ? 'reading the repository took too long' : end.tail;
  const { exitCode, signal } = end;
  throw new AgentosError({ code: 'worker-crashed', detail, exitCode, signal }, { retry: 'transient' });
}
