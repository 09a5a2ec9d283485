import { access, constants, readdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { missingAgent } from '../../agent/programs/agents.ts';
import { type Problem, systemCode, toErrorRecord } from '../../core/errors.ts';
import { EXIT } from '../../core/exit-code.ts';
import { isItemId } from '../../core/ids.ts';
import { VENDORS, withoutSecrets } from '../../core/keys.ts';
import { parseModelSpec, vendorOf } from '../../core/model-spec.ts';
import { proxyVariables } from '../../core/proxy.ts';
import { wordingOf } from '../../core/wording.ts';
import { createGit } from '../../git/git.ts';
import { headCommit } from '../../git/repository.ts';
import { vendorBaseUrl } from '../../models/base-url.ts';
import { requireModels } from '../../models/require-models.ts';
import { tryKey } from '../../models/try-key.ts';
import { createVendorAgents, trustCertificates } from '../../models/vendor-agents.ts';
import { createTerminal, paint, printable } from '../../output/terminal.ts';
import { runProgram } from '../../process/program.ts';
import { detectSetup } from '../../process/setup.ts';
import { loadPrompts } from '../../prompts/prompts.ts';
import { openProject, type Project, type ProjectOptions } from '../../run/project.ts';
import { detectTests } from '../../testing/detect.ts';
import { isAssignment, shellCommands } from '../../testing/script.ts';
import { type PlaceFlags, projectOf } from '../request.ts';

const MARKS = { ok: ['green', 'ok  '], warn: ['yellow', 'note'], bad: ['red', 'BAD '] } as const;

export async function doctorCommand(flags: PlaceFlags & { json?: boolean; keys?: boolean }): Promise<number> {
  const { repo, baseDir, config } = flags;
  const checks = await checkProject({ cwd: process.cwd(), env: process.env, repo, baseDir, config, flags: {} });
  const project = await projectOf(flags).catch(() => null);
  const network = project === null ? [] : checkNetwork(project);
  const implementing = project === null ? [] : await checkImplementing(project);
  checks.push(...network, ...implementing);
  if (flags.keys && project !== null) checks.push(...(await checkKeys(project)));
  const rows = checks.map(inWords);
  const healthy = rows.every((row) => row.state !== 'bad');
  if (flags.json) {
    process.stdout.write(`${JSON.stringify({ healthy, checks: rows }, null, 2)}\n`);
    return healthy ? EXIT.ok : EXIT.failed;
  }
  const terminal = createTerminal(process.stdout, process.env, (text) => text);
  for (const { name, state, detail, todo } of rows) {
    const [style, mark] = MARKS[state];
    terminal.line(`${paint(terminal, style, mark)}  ${name.padEnd(14)}  ${printable(detail)}`);
    if (todo) terminal.line(`      ${' '.repeat(14)}  ${printable(todo)}`);
  }
  const obstacle = implementing.find(({ state }) => state !== 'ok');
  const ready = obstacle === undefined ? 'Ready. Try: agentos lld --all' : notReady(inWords(obstacle));
  terminal.line(healthy ? printable(ready) : advice(rows));
  return healthy ? EXIT.ok : EXIT.failed;
}

interface Row {
  name: string;
  state: Check['state'];
  detail: string;
  todo: string | null;
}

function inWords({ name, state, found, todo }: Check): Row {
  if (typeof found === 'string') return { name, state, detail: found, todo };
  const { message, hint } = wordingOf(found);
  return { name, state, detail: message, todo: hint };
}

/** Designs need neither tests nor a set-up. */
function notReady({ name, detail }: Row): string {
  return `agentos implement is not ready: ${name}: ${detail.replace(/\.$/, '')}. Designs can be made: agentos lld --all`;
}

/** Addresses that can't be right, whether they are needed or not. */
function checkNetwork({ config: { endpoints }, env }: Project): Check[] {
  const found = [
    problemWith(() => proxyVariables(env)),
    ...VENDORS.filter((vendor) => endpoints[vendor] !== undefined).map((vendor) =>
      problemWith(() => vendorBaseUrl(vendor, endpoints[vendor])),
    ),
  ];
  return found
    .filter((problem) => problem !== null)
    .map((problem) => ({ name: 'network', state: 'bad', found: problem, todo: null }));
}

function problemWith(read: () => unknown): Problem | null {
  try {
    read();
    return null;
  } catch (error) {
    return toErrorRecord(error).problem;
  }
}

/** One cheap call per key, all at the same time. */
async function checkKeys({ config: { keys, endpoints }, env }: Project): Promise<Check[]> {
  if (keys.length === 0) return [{ name: 'keys', state: 'warn', found: 'none to try', todo: null }];
  const distrust = trustCertificates(env);
  const notes: Check[] =
    distrust === null ? [] : [{ name: 'certificates', state: 'warn', found: distrust, todo: null }];
  if (problemWith(() => proxyVariables(env)) !== null) return notes;
  const agents = createVendorAgents(env);
  const tried = await Promise.all(
    keys.map(async (key): Promise<Check> => {
      const failure = await tryKey(key, { endpoint: endpoints[key.vendor], agents });
      return { name: key.id, state: failure === null ? 'ok' : 'bad', found: failure?.problem ?? 'works', todo: null };
    }),
  );
  return [...notes, ...tried];
}

/** Without keys there is still the tour; whatever else is missing, it needs too. */
function advice(rows: readonly Row[]): string {
  const onlyModels = rows.every(
    ({ name, state }) => state !== 'bad' || name === 'drafter' || name === 'reviewer' || name === 'implementer',
  );
  return onlyModels
    ? 'Fix what is marked BAD, then run agentos doctor again. agentos demo needs no key.'
    : 'Fix what is marked BAD, then run agentos doctor again.';
}

interface Check {
  name: string;
  state: 'ok' | 'warn' | 'bad';
  /** What was found: in words, or as the problem that it is. */
  found: string | Problem;
  todo: string | null;
}

/** What a run needs, one after the other; the first failure that the later checks depend on ends the list. */
async function checkProject(options: ProjectOptions): Promise<Check[]> {
  const found: Check[] = [nodeVersion()];
  const git = await gitVersion(options);
  found.push(git);
  if (git.state === 'bad') return found;
  let project: Project;
  try {
    project = await openProject(options);
  } catch (error) {
    return [...found, failure('repository', error)];
  }
  found.push(
    await repository(project),
    configuration(project),
    await state(project),
    await issues(project),
    await prompts(project),
  );
  return [...found, ...(await models(project))];
}

/** New enough: on an older one the program has ended before. */
function nodeVersion(): Check {
  return { name: 'node', state: 'ok', found: process.version, todo: null };
}

async function gitVersion({ cwd, env }: ProjectOptions): Promise<Check> {
  try {
    const git = createGit(cwd, withoutSecrets(env, [], []));
    return { name: 'git', state: 'ok', found: await git.text(['--version']), todo: null };
  } catch (error) {
    return failure('git', error);
  }
}

async function repository({ paths, childEnv }: Project): Promise<Check> {
  try {
    const commit = await headCommit(createGit(paths.repository, childEnv));
    return { name: 'repository', state: 'ok', found: `${paths.repository} at ${commit.slice(0, 12)}`, todo: null };
  } catch (error) {
    return failure('repository', error);
  }
}

function configuration({ configFile }: Project): Check {
  return configFile === null
    ? { name: 'configuration', state: 'ok', found: 'no agentos.yaml: the defaults', todo: null }
    : { name: 'configuration', state: 'ok', found: configFile, todo: null };
}

/** The nearest folder that exists is asked, so that looking makes nothing. */
async function state({ paths }: Project): Promise<Check> {
  let folder = paths.base;
  for (let depth = 0; depth < 64; depth++) {
    try {
      if (!(await stat(folder)).isDirectory()) break;
      await access(folder, constants.W_OK);
      return { name: 'state folder', state: 'ok', found: paths.base, todo: null };
    } catch (error) {
      if (systemCode(error) !== 'ENOENT' || folder === dirname(folder)) break;
      folder = dirname(folder);
    }
  }
  return {
    name: 'state folder',
    state: 'bad',
    found: `${paths.base} can't be written`,
    todo: 'Choose another one with --base-dir or AGENTOS_HOME.',
  };
}

async function issues({ paths }: Project): Promise<Check> {
  const names = await readdir(paths.issues).catch(() => []);
  const ids = names
    .filter((name) => name.endsWith('.md') && name.toLowerCase() !== 'readme.md')
    .map((name) => name.slice(0, -'.md'.length));
  const count = ids.filter(isItemId).length;
  const [odd] = ids.filter((id) => !isItemId(id));
  if (odd !== undefined) {
    return {
      name: 'issues',
      state: 'warn',
      found: `${count} file(s) in issues/, and ${ids.length - count} not taken, such as "${odd}.md"`,
      todo: 'The name of an issue is 1 to 64 letters, digits, hyphens and underscores.',
    };
  }
  return count > 0
    ? { name: 'issues', state: 'ok', found: `${count} file(s) in issues/`, todo: null }
    : {
        name: 'issues',
        state: 'warn',
        found: 'none in issues/',
        todo: 'Write one as issues/<id>.md: a title as first heading, then what is wanted.',
      };
}

async function prompts({ paths }: Project): Promise<Check> {
  try {
    await loadPrompts(paths.prompts);
    return { name: 'prompts', state: 'ok', found: 'readable', todo: null };
  } catch (error) {
    return failure('prompts', error);
  }
}

function models({ config, childEnv }: Project): Promise<Check[]> {
  const checks = (Object.keys(config.models) as Role[]).map(async (role): Promise<Check> => {
    const text = config.models[role];
    try {
      const missing = role === 'implementer' ? null : await missingAgent(text, childEnv['PATH']);
      if (missing !== null) return { name: role, state: 'bad', found: missing, todo: null };
      requireModels(config, [role]);
      const vendor = vendorOf(parseModelSpec(text));
      const keys = config.keys.filter((key) => key.vendor === vendor).map((key) => key.id);
      const told = keys.length > 0 ? `, ${keys.length} key(s): ${keys.join(', ')}` : vendor ? ', without a key' : '';
      return { name: role, state: 'ok', found: text + told, todo: null };
    } catch (error) {
      return failure(role, error);
    }
  });
  return Promise.all(checks);
}

function failure(name: string, error: unknown): Check {
  return { name, state: 'bad', found: toErrorRecord(error).problem, todo: null };
}

const LOOK_TIMEOUT_MS = 10_000;

/** What `implement` needs beside models: a set-up that can start, a way to run the tests, the agent's program. */
async function checkImplementing(project: Project): Promise<Check[]> {
  const missing = await missingAgent(project.config.models.implementer, project.childEnv['PATH']);
  return [
    ...(await setUp(project)),
    await tests(project),
    ...(missing === null ? [] : [{ name: 'agent', state: 'warn' as const, found: missing, todo: null }]),
  ];
}

async function tests({ paths, config, childEnv }: Project): Promise<Check> {
  const ignore = (): void => undefined;
  try {
    const { command, runner } = await detectTests({
      directory: paths.repository,
      settings: config.tests,
      env: childEnv,
      scratch: paths.base,
      onLine: ignore,
      onProgress: ignore,
      onGroup: ignore,
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
async function setUp({ paths, config, childEnv }: Project): Promise<Check[]> {
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
