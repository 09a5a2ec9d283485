import { missingAgent } from '../../agent/programs/agents.ts';
import { toErrorRecord } from '../../core/errors.ts';
import { wordingOf } from '../../core/wording.ts';
import { runProgram } from '../../process/program.ts';
import { detectSetup } from '../../process/setup.ts';
import type { Project } from '../../run/project.ts';
import { detectTests } from '../../testing/detect.ts';
import { isAssignment, shellCommands } from '../../testing/shell-script.ts';
import type { Examined } from './examination.ts';

const LOOK_TIMEOUT_MS = 10_000;

/** What `implement` needs beside models: a set-up that can start, a way to run the tests, the agent's program. */
export async function examineImplementing(project: Project): Promise<Examined[]> {
  const missing = await missingAgent(project.config.models.implementer, project.childEnv['PATH']);
  return [
    ...(await setUp(project)),
    await tests(project),
    ...(missing === null ? [] : [{ name: 'agent', state: 'warn' as const, found: missing, todo: null }]),
  ];
}

async function tests({ paths, config, childEnv }: Project): Promise<Examined> {
  const nobody = (): void => undefined;
  try {
    const { command, runner } = await detectTests({
      directory: paths.repository,
      settings: config.tests,
      env: childEnv,
      scratch: paths.base,
      onLine: nobody,
      onProgress: nobody,
      onGroup: nobody,
    });
    return { name: 'tests', state: 'ok', found: `${command} (${runner})`, todo: null };
  } catch (error) {
    const { problem } = toErrorRecord(error);
    if (problem.code !== 'tests-undetected') return { name: 'tests', state: 'warn', found: problem, todo: null };
    const { script, runner } = problem;
    const found =
      script ?? (runner === null ? 'no test script, and no sign of a test runner' : `${runner} is not known`);
    return { name: 'tests', state: 'warn', found: `${problem.code}: ${found}`, todo: wordingOf(problem).hint };
  }
}

/** Whether its programs are there; whether it works is seen when it runs. */
async function setUp({ paths, config, childEnv }: Project): Promise<Examined[]> {
  const { setup } = config.implement;
  const command = setup === false ? null : (setup ?? (await detectSetup(paths.repository)));
  if (command === null) return [];
  const [missing] = await missingPrograms(command, paths.repository, childEnv);
  if (missing === undefined) return [{ name: 'set-up', state: 'ok', found: command, todo: null }];
  const todo = `Install ${missing}, or name another command as implement.setup in agentos.yaml; false: none.`;
  return [{ name: 'set-up', state: 'warn', found: `${missing}: not found, needed for: ${command}`, todo }];
}

/** Asked of the shell itself, which has programs of its own; a path may be made by the command before it. */
async function missingPrograms(command: string, cwd: string, env: Record<string, string>): Promise<string[]> {
  const programs = shellCommands(command).flatMap((words) => words.find(({ text }) => !isAssignment(text))?.text ?? []);
  const names = programs.filter((name) => /^[\w.+-]+$/.test(name));
  const look = 'for name; do command -v "$name" >/dev/null || echo "$name"; done';
  const { signal } = new AbortController();
  const asked = ['sh', '-c', look, 'sh', ...names];
  const { stdout } = await runProgram({ command: asked, cwd, env, signal, timeoutMs: LOOK_TIMEOUT_MS });
  return stdout.split('\n').filter((name) => name !== '');
}
