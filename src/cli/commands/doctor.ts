import { access, constants, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { missingAgent } from '../../agent/create.ts';
import type { Role } from '../../core/config.ts';
import { AgentosError, codeOf, type Problem, systemCode, toErrorRecord } from '../../core/errors.ts';
import { EXIT } from '../../core/exit-code.ts';
import { isItemId } from '../../core/ids.ts';
import { missingAtHub, plainEnvironment } from '../../core/keys.ts';
import { keyVendorOf, parseModelSpec } from '../../core/model-spec.ts';
import { wordingOf } from '../../core/wording.ts';
import { tryKey } from '../../gateway/upstream.ts';
import { createGit } from '../../git/git.ts';
import { headCommit } from '../../git/repository.ts';
import { createVendorAgents, requireModels, trustCertificates } from '../../models/settings.ts';
import { createTerminal, paint, printable } from '../../output/terminal.ts';
import { namesInside } from '../../process/files.ts';
import { runProgram } from '../../process/program.ts';
import { findSandbox } from '../../process/sandbox/sandbox.ts';
import { detectSetup } from '../../process/setup.ts';
import { readPromptFiles } from '../../prompts/prompts.ts';
import { parseKeys } from '../../run/keys-file.ts';
import type { Project } from '../../run/project.ts';
import { claimsOf, isTrusted } from '../../run/trust.ts';
import { detectTests, packagesWithTests } from '../../testing/detect.ts';
import { folderFiles } from '../../testing/project.ts';
import { isAssignment, shellCommands } from '../../testing/script.ts';
import { withDatabase } from '../at-hub.ts';
import { printJson } from '../print.ts';
import { databaseOf, type PlaceFlags, projectOf, requireTrust } from '../request.ts';

const MARKS = { ok: ['green', 'ok  '], warn: ['yellow', 'note'], bad: ['red', 'BAD '] } as const;

interface Row {
  name: string;
  state: keyof typeof MARKS;
  detail: string;
  todo: string | null;
}

/** What was found: in words, or as the problem that it is. */
function row(name: string, state: Row['state'], found: string | Problem, todo: string | null = null): Row {
  if (typeof found === 'string') return { name, state, detail: found, todo };
  const { message, hint } = wordingOf(found);
  return { name, state, detail: message, todo: hint };
}

/** Bad if it throws. */
async function seen(name: string, look: () => string | Promise<string>): Promise<Row> {
  try {
    return row(name, 'ok', await look());
  } catch (error) {
    return row(name, 'bad', toErrorRecord(error).problem);
  }
}

interface DoctorFlags extends PlaceFlags {
  keys?: boolean;
  trust?: boolean;
}

export async function doctorCommand(flags: DoctorFlags): Promise<number> {
  const { rows, mask } = await checked(flags);
  const healthy = rows.every(({ state }) => state !== 'bad');
  const exitCode = healthy ? EXIT.ok : EXIT.failed;
  if (flags.json) {
    printJson({ healthy, checks: rows }, mask);
    return exitCode;
  }
  const terminal = createTerminal(mask);
  for (const { name, state, detail, todo } of rows) {
    const [style, mark] = MARKS[state];
    terminal.line(`${paint(terminal, style, mark)}  ${name.padEnd(14)}  ${printable(detail)}`);
    if (todo) terminal.line(`      ${' '.repeat(14)}  ${printable(todo)}`);
  }
  terminal.line(printable(healthy ? readiness(rows) : advice(rows)));
  return exitCode;
}

async function checked(flags: DoctorFlags): Promise<{ rows: Row[]; mask?: Project['mask'] }> {
  // New enough: on an older one the program has ended before.
  const rows = [row('node', 'ok', process.version)];
  const git = createGit(process.cwd(), plainEnvironment(process.env));
  rows.push(await seen('git', () => git.text(['--version'])));
  const hasGit = rows.every(({ state }) => state === 'ok');
  let atHub: ReadonlySet<string> | null = null;
  if (databaseOf(flags) !== null) {
    atHub = new Set();
    const look = async (): Promise<string> => {
      const { said, vendors } = await hubOf(flags);
      atHub = vendors;
      return said;
    };
    rows.push(await seen('hub', look));
  }
  if (!hasGit) return { rows };
  try {
    const project = await projectOf(flags);
    const claims = flags.trust ? [] : claimsOf(project);
    if (!(await isTrusted(project, claims))) {
      if (flags.keys) await requireTrust(project);
      const found = `not given yet: ${claims.map(({ where }) => where).join(', ')}`;
      rows.push(row('trust', 'warn', found, 'Look at them with agentos trust.'));
    }
    rows.push(...(await placeRows(project)), ...(await roleRows(project, atHub)));
    rows.push(...(await hostRows(project)), ...(await implementRows(project)), await sandboxRow(project));
    if (flags.keys) rows.push(...(await keyRows(project)));
    return { rows, mask: project.mask };
  } catch (error) {
    if (codeOf(error) === 'untrusted') throw error;
    return { rows: [...rows, row('repository', 'bad', toErrorRecord(error).problem)] };
  }
}

/** The last line if nothing is BAD. Designs need neither tests nor a set-up. */
function readiness(rows: readonly Row[]): string {
  const obstacle = rows.find(({ name, state }) => ['set-up', 'tests', 'agent'].includes(name) && state !== 'ok');
  if (obstacle !== undefined) {
    const { name, detail } = obstacle;
    return `agentos implement is not ready: ${name}: ${detail.replace(/\.$/, '')}. Designs can be made: agentos lld --all`;
  }
  const isTrusting = rows.every(({ name }) => name !== 'trust');
  return isTrusting ? 'Ready. Try: agentos lld --all' : 'Ready after agentos trust. Then try: agentos lld --all';
}

/** Without keys there is still the tour; whatever else is missing, it needs too. */
function advice(rows: readonly Row[]): string {
  const isRole = (name: string): boolean => ['drafter', 'reviewer', 'implementer'].includes(name);
  const onlyModels = rows.every(({ name, state }) => state !== 'bad' || isRole(name));
  return `Fix what is marked BAD, then run agentos doctor again.${onlyModels ? ' agentos demo needs no key.' : ''}`;
}

/** The hub that the environment or a flag names, and the vendors that it has keys for. */
async function hubOf(flags: DoctorFlags): Promise<{ said: string; vendors: Set<string> }> {
  const { readHub } = await import('../../hub/hub-link.ts');
  const { listMachines } = await import('../../hub/machines.ts');
  return withDatabase(flags, async (database) => {
    const { leaseMs, version } = await readHub(database);
    const [found] = await database.rows<{ isThere: boolean; server: string; keys: unknown }>(
      `SELECT seen_at > clock_timestamp() - interval '30 seconds' AS "isThere",
        current_setting('server_version') AS server, keys FROM agentos.hub`,
    );
    if (found?.isThere !== true)
      throw new AgentosError({ code: 'hub-missing', database: database.name, reason: 'it was not seen for 30 s' });
    const working = (await listMachines(database, leaseMs)).filter(({ state }) => state === 'working');
    return {
      said: `version ${version} on PostgreSQL ${found.server} at ${database.name}, ${working.length} machine(s)`,
      vendors: new Set(parseKeys(found.keys)?.keys.map(({ vendor }) => vendor)),
    };
  });
}

async function placeRows(project: Project): Promise<Row[]> {
  const { paths, git, configFile } = project;
  return [
    await seen('repository', async () => `${paths.repository} at ${(await headCommit(git)).slice(0, 12)}`),
    row('configuration', 'ok', configFile ?? 'no agentos.yaml: the defaults'),
    await stateRow(paths.base),
    issuesRow(project),
    await seen('prompts', () => (readPromptFiles(paths.prompts), 'readable')),
  ];
}

/** The nearest folder that exists is asked, so that looking makes nothing. */
async function stateRow(base: string): Promise<Row> {
  for (let folder = base; ; folder = dirname(folder)) {
    try {
      if (!(await stat(folder)).isDirectory()) break;
      await access(folder, constants.W_OK);
      return row('state folder', 'ok', base);
    } catch (error) {
      if (systemCode(error) !== 'ENOENT' || folder === dirname(folder)) break;
    }
  }
  return row('state folder', 'bad', `${base} can't be written`, 'Choose another one with --base-dir or AGENTOS_HOME.');
}

function issuesRow({ paths, config, source }: Project): Row {
  if (config.remote.source !== null) return row('issues', 'ok', `from ${source.location}`);
  const ids = namesInside(paths.issues, paths.repository)
    .filter((name) => name.endsWith('.md') && name.toLowerCase() !== 'readme.md')
    .map((name) => name.slice(0, -'.md'.length));
  const odd = ids.filter((id) => !isItemId(id));
  const count = ids.length - odd.length;
  if (odd.length > 0) {
    const found = `${count} file(s) in issues/, and ${odd.length} not taken, such as "${odd[0]}.md"`;
    const todo = 'The name of an issue is 1 to 64 letters, digits, hyphens and underscores.';
    return row('issues', 'warn', found, todo);
  }
  if (count > 0) return row('issues', 'ok', `${count} file(s) in issues/`);
  const todo = 'Write one as issues/<id>.md: a title as first heading, then what is wanted.';
  return row('issues', 'warn', 'none in issues/', todo);
}

/** `atHub`: the vendors that the hub has keys for. It and its machines need keys and agents then, not this one. */
function roleRows({ config, childEnv }: Project, atHub: ReadonlySet<string> | null): Promise<Row[]> {
  const told = async (role: Role): Promise<string> => {
    const text = config.models[role];
    const vendor = keyVendorOf(parseModelSpec(text), config.ownLogins);
    if (atHub !== null) {
      if (vendor === null || vendor === 'openai-compatible') return text;
      if (atHub.has(vendor)) return `${text}, with the hub's keys`;
      throw new AgentosError({ code: 'key-missing', missing: [missingAtHub(vendor, [role])] });
    }
    const missing = role === 'implementer' ? null : await missingAgent(text, childEnv['PATH']);
    if (missing !== null) throw new AgentosError(missing);
    requireModels(config, [role]);
    const keys = config.keys.filter((key) => key.vendor === vendor).map((key) => key.id);
    if (keys.length > 0) return `${text}, ${keys.length} key(s): ${keys.join(', ')}`;
    return vendor === null ? text : `${text}, without a key`;
  };
  return Promise.all((Object.keys(config.models) as Role[]).map((role) => seen(role, () => told(role))));
}

/** Services that the configuration names: whether the token is accepted, and what it may do. */
async function hostRows({ config: { remote }, hosts }: Project): Promise<Row[]> {
  const rows: Row[] = [];
  const { source, comment, pr } = remote;
  if (source !== null) {
    const look = async (): Promise<string> => {
      const { path, isArchived } = await hosts.facts();
      const moved = source.path !== null && source.path.toLowerCase() !== path.toLowerCase();
      return `issues of ${path}${moved ? `, which was ${source.path}` : ''}${isArchived ? ', which is archived' : ''}`;
    };
    rows.push(await seen(source.host, look));
  }
  const writable = async (place: { location: string; requireWrite(): Promise<void> }): Promise<string> => {
    await place.requireWrite();
    return `go to ${place.location}`;
  };
  if (comment) rows.push(await seen('comments', async () => writable(await hosts.tracker())));
  if (pr.open) rows.push(await seen('pull requests', async () => writable(await hosts.forge())));
  return rows;
}

/** What `implement` needs beside models: a set-up that can start, a way to run the tests, the agent's program. */
async function implementRows(project: Project): Promise<Row[]> {
  const missing = await missingAgent(project.config.models.implementer, project.childEnv['PATH']).catch(() => null);
  const { found, packages } = await testsIn(project);
  return [...(await setUpRows(project, packages)), found, ...(missing === null ? [] : [row('agent', 'warn', missing)])];
}

/** `packages`: the folders of packages, if the tests are only understood there. */
async function testsIn({ paths, config, childEnv }: Project): Promise<{ found: Row; packages: string[] }> {
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
    return { found: row('tests', 'ok', `${command} (${runner})`), packages: [] };
  } catch (error) {
    const { problem } = toErrorRecord(error);
    if (problem.code !== 'tests-undetected') return { found: row('tests', 'warn', problem), packages: [] };
    const inPackages = await packagesWithTests(folderFiles(paths.repository), config.tests);
    if (inPackages.length > 0) {
      const told = inPackages.map(({ folder, name, written }) =>
        written === null ? `${folder}: (${name})` : `${folder}: ${written.command} (${name})`,
      );
      return { found: row('tests', 'ok', told.join(', ')), packages: inPackages.map(({ folder }) => folder) };
    }
    const { script, runner } = problem;
    const none = runner === null ? 'no test script, and no sign of a test runner' : `${runner} is not known`;
    const todo = wordingOf(problem).hint;
    return { found: row('tests', 'warn', `${problem.code}: ${script ?? none}`, todo), packages: [] };
  }
}

/** Whether its programs are there; whether it works is seen when it runs. */
async function setUpRows({ paths, config, childEnv }: Project, packages: readonly string[]): Promise<Row[]> {
  const { setup } = config.implement;
  const command =
    setup === false ? null : (setup ?? (await detectSetup(paths.repository, childEnv['PATH'], { packages })));
  if (command === null) return [];
  const [missing] = await missingPrograms(command, paths.repository, childEnv);
  if (missing === undefined) return [row('set-up', 'ok', command)];
  const todo = `Install ${missing}, or name another command as implement.setup in agentos.yaml; false: none.`;
  return [row('set-up', 'warn', `${missing}: not found, needed for: ${command}`, todo)];
}

const LOOK_TIMEOUT_MS = 10_000;

/** Asked of the shell itself, which has programs of its own; a path may be made by the command before it. */
async function missingPrograms(command: string, cwd: string, env: Record<string, string>): Promise<string[]> {
  const programs = shellCommands(command).flatMap((words) => words.find(({ text }) => !isAssignment(text))?.text ?? []);
  const names = programs.filter((name) => /^[\w.+-]+$/.test(name));
  const look = 'for name; do command -v "$name" >/dev/null || echo "$name"; done';
  const asked = ['sh', '-c', look, 'sh', ...names];
  const { signal } = new AbortController();
  const { stdout } = await runProgram({ command: asked, cwd, env, signal, timeoutMs: LOOK_TIMEOUT_MS });
  return stdout.split('\n').filter((name) => name !== '');
}

/** Without one programs of items can do what the user can. */
async function sandboxRow({ config: { sandbox: wanted }, childEnv }: Project): Promise<Row> {
  if (wanted.mode === 'off') return row('sandbox', 'warn', 'off, by sandbox.mode in agentos.yaml');
  const found = await findSandbox(childEnv);
  if (found.tool !== null) return row('sandbox', 'ok', found.name);
  return row('sandbox', wanted.mode === 'on' ? 'bad' : 'warn', `none: ${found.reason}`, found.todo);
}

/** One cheap call per key, all at the same time. */
async function keyRows({ config: { keys, endpoints }, env }: Project): Promise<Row[]> {
  if (keys.length === 0) return [row('keys', 'warn', 'none to try')];
  const distrust = trustCertificates(env);
  const notes = distrust === null ? [] : [row('certificates', 'warn', distrust)];
  let agents: ReturnType<typeof createVendorAgents>;
  try {
    agents = createVendorAgents(env);
  } catch (error) {
    return [...notes, row('network', 'bad', toErrorRecord(error).problem)];
  }
  const tried = keys.map(async (key) => {
    const failure = await tryKey(key, { endpoint: endpoints[key.vendor], agents });
    return row(key.id, failure === null ? 'ok' : 'bad', failure?.problem ?? 'works');
  });
  return [...notes, ...(await Promise.all(tried))];
}
