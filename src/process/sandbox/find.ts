import { firstLine } from '../../core/lines.ts';
import { findProgram, runProgram, usersPath } from '../program.ts';
import { createSandbox, type SandboxTool } from './sandbox.ts';

/** What this machine has, or why it has none and what to do about that. */
export type FoundSandbox = { tool: SandboxTool; name: string } | { tool: null; reason: string; todo: string };

const TRIAL_MS = 10_000;

/** Tries it out: that it is installed does not mean that the kernel lets it work. */
export async function findSandbox(env: Readonly<Record<string, string | undefined>>): Promise<FoundSandbox> {
  const path = usersPath(env['PATH']);
  if (process.platform === 'darwin') {
    const program = await findProgram('sandbox-exec', '/usr/bin');
    if (program !== null) return { tool: { kind: 'seatbelt', program }, name: 'sandbox-exec' };
  }
  if (process.platform !== 'linux')
    return { tool: null, reason: `${process.platform} is not supported`, todo: 'Use Linux or macOS.' };
  const program = await findProgram('bwrap', path);
  if (program === null) {
    const todo = 'Install it: apt-get install bubblewrap, dnf install bubblewrap, apk add bubblewrap.';
    return { tool: null, reason: 'bubblewrap (bwrap) is not installed', todo };
  }
  const tool: SandboxTool = { kind: 'bubblewrap', program };
  const sandbox = createSandbox({ tool, rules: [], empty: '/', network: { is: 'own', ports: new Map() }, env: {} });
  const { signal } = new AbortController();
  const trial = { cwd: '/', env: { PATH: path }, signal, timeoutMs: TRIAL_MS, sandbox };
  const ended = await runProgram({ command: ['true'], ...trial });
  if (ended.exitCode === 0) return { tool, name: `bubblewrap (${program})` };
  return {
    tool: null,
    reason: `${program} does not work here: ${firstLine(ended.tail) || 'it said nothing'}`,
    todo: 'Allow user namespaces (in a container: --security-opt seccomp=unconfined --security-opt systempaths=unconfined; on Ubuntu: an AppArmor profile for bwrap, or sysctl kernel.apparmor_restrict_unprivileged_userns=0).',
  };
}

/** What is said once where a run has to do without. */
export function withoutSandbox({ reason, todo }: { reason: string; todo: string }): string {
  return `No sandbox: ${reason}. Agents, commands, set-up and tests can read and change your files, use the network and leave processes behind. ${todo}`;
}
