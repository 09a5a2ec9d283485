import { AgentosError } from '../core/errors.ts';
import { type HostName, TOKEN_VARIABLES } from '../core/remote.ts';
import { Secret } from '../core/secret.ts';
import { findProgram, runProgram } from '../process/program.ts';

type Environment = Readonly<Record<string, string | undefined>>;

const GH_TIMEOUT_MS = 10_000;

/** The environment's, else what `gh` has for that host. */
export async function findToken(
  host: HostName,
  webHost: string,
  { env, childEnv, cwd }: { env: Environment; childEnv: Record<string, string>; cwd: string },
): Promise<Secret> {
  for (const name of TOKEN_VARIABLES[host]) if (env[name]?.trim()) return new Secret(env[name].trim());
  const gh = host === 'github' ? await findProgram('gh', env['PATH']) : null;
  if (gh !== null) {
    const { signal } = new AbortController();
    const command = [gh, 'auth', 'token', '--hostname', webHost];
    const { exitCode, stdout } = await runProgram({ command, cwd, env: childEnv, signal, timeoutMs: GH_TIMEOUT_MS });
    if (exitCode === 0 && stdout.trim() !== '') return new Secret(stdout.trim());
  }
  throw new AgentosError({ code: 'host-token-missing', host });
}
