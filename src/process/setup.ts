import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { AgentosError } from '../core/errors.ts';
import { parseJson } from '../core/json.ts';
import { reasonIn } from '../core/reason.ts';
import { findProgram, type ProgramOptions, runProgram } from './program.ts';
import { pythonSetup, REQUIREMENTS, tableOf } from './python.ts';

/**
 * What prepares a worktree, by the files that say so; null: there is nothing to prepare. `updated`: manifests were changed,
 * and lock files are to follow them. `path`: where programs are looked for.
 */
export async function detectSetup(
  directory: string,
  path: string | undefined,
  locks: 'frozen' | 'updated' = 'frozen',
): Promise<string | null> {
  const names = new Set(await readdir(directory).catch(() => [] as string[]));
  const folder: SetupFolder = {
    names,
    read: (name) => readFile(join(directory, name), 'utf8').catch(() => ''),
    updatesLocks: locks === 'updated',
    has: async (program) => (await findProgram(program, path)) !== null,
  };
  const commands: string[] = [];
  for (const detect of [nodeSetup, pythonSetup, goSetup, rustSetup, rubySetup, phpSetup]) {
    const command = await detect(folder);
    if (command !== null) commands.push(command);
  }
  return commands.length === 0 ? null : commands.join(' && ');
}

/** Where tests need what a build makes, a set-up that makes it; null: there is no script for one. */
export async function setupWithBuild(directory: string, path: string | undefined): Promise<string | null> {
  const json = packageSchema.safeParse(
    parseJson(await readFile(join(directory, 'package.json'), 'utf8').catch(() => '')),
  ).data;
  if (typeof json?.scripts?.['build'] !== 'string') return null;
  const setup = await detectSetup(directory, path);
  const manager = /^(?:pnpm|yarn|bun)\b/.exec(setup ?? '')?.[0] ?? 'npm';
  return [...(setup === null ? [] : [setup]), `${manager} run build`].join(' && ');
}

export interface SetupOptions {
  command: string;
  directory: string;
  env: Readonly<Record<string, string>>;
  sandbox?: ProgramOptions['sandbox'];
  timeoutMs: number;
  signal: AbortSignal;
  onLine?: (line: string, stream: 'stdout' | 'stderr') => void;
  mask?: (text: string) => string;
  onProgress?: () => void;
  onGroup?: (leader: number, ended: boolean) => void;
}

/** Runs it to its end. A failure stays one until a person does something; running out of time may pass. */
export async function runSetup({ directory, ...program }: SetupOptions): Promise<void> {
  const { command, timeoutMs } = program;
  const end = await runProgram({ ...program, cwd: directory, maySleep: true });
  if (end.exitCode === 0 && !end.timedOut) return;
  const said = reasonIn(end.tail);
  const detail = end.timedOut
    ? `it was not done after ${Math.round(timeoutMs / 1_000)} s${said ? `: ${said}` : ''}`
    : said || (end.signal === null ? 'it said nothing' : `ended by ${end.signal}`);
  throw new AgentosError(
    { code: 'setup-failed', command, exitCode: end.exitCode, detail },
    { retry: end.timedOut ? 'transient' : 'permanent' },
  );
}

/** The top of a checkout. */
export interface SetupFolder {
  names: ReadonlySet<string>;
  /** Empty where it can't be read. */
  read: (name: string) => Promise<string>;
  /** Whether lock files may be brought in line with changed manifests, instead of being required to be. */
  updatesLocks: boolean;
  /** Whether a program is on the search path. */
  has: (program: string) => Promise<boolean>;
}

const SETUP_FILES: ReadonlySet<string> = new Set([
  'package.json',
  'package-lock.json',
  'npm-shrinkwrap.json',
  'pnpm-lock.yaml',
  'yarn.lock',
  'bun.lock',
  'bun.lockb',
  'pyproject.toml',
  'uv.lock',
  'poetry.lock',
  'pdm.lock',
  'setup.py',
  'setup.cfg',
  'go.mod',
  'go.sum',
  'Cargo.toml',
  'Cargo.lock',
  'Gemfile',
  'Gemfile.lock',
  'composer.json',
  'composer.lock',
]);

/** Whether what is installed depends on a file, in whatever folder it is. */
export function isSetupFile(path: string): boolean {
  const name = path.slice(path.lastIndexOf('/') + 1);
  return SETUP_FILES.has(name) || REQUIREMENTS.test(name);
}

const packageSchema = z.looseObject({
  packageManager: z.string().optional().catch(undefined),
  dependencies: z.looseObject({}).optional().catch(undefined),
  devDependencies: z.looseObject({}).optional().catch(undefined),
  optionalDependencies: z.looseObject({}).optional().catch(undefined),
  peerDependencies: z.looseObject({}).optional().catch(undefined),
  workspaces: z.unknown().optional(),
  scripts: z.looseObject({}).optional().catch(undefined),
});

const NPM_FLAGS = '--no-audit --no-fund --prefer-offline';
const INSTALL_SCRIPTS = ['preinstall', 'install', 'postinstall', 'prepare'];

async function nodeSetup({ names, read, updatesLocks }: SetupFolder): Promise<string | null> {
  if (!names.has('package.json')) return null;
  const json = packageSchema.safeParse(parseJson((await read('package.json')).replace(/^\uFEFF/, ''))).data;
  if (json === undefined) return null;
  if (names.has('pnpm-lock.yaml')) return `pnpm install --${updatesLocks ? 'no-' : ''}frozen-lockfile`;
  if (names.has('bun.lock') || names.has('bun.lockb')) return `bun install${updatesLocks ? '' : ' --frozen-lockfile'}`;
  if (names.has('yarn.lock')) return yarnSetup(json.packageManager, await read('yarn.lock'), updatesLocks);
  if (names.has('package-lock.json') || names.has('npm-shrinkwrap.json'))
    return `npm ${updatesLocks ? 'install' : 'ci'} ${NPM_FLAGS}`;
  const lists = [json.dependencies, json.devDependencies, json.optionalDependencies, json.peerDependencies];
  const isNeeded =
    lists.some((list) => Object.keys(list ?? {}).length > 0) ||
    json.workspaces !== undefined ||
    INSTALL_SCRIPTS.some((name) => name in (json.scripts ?? {}));
  return isNeeded ? `npm install --no-package-lock ${NPM_FLAGS}` : null;
}

/** The lock file of yarn 1 says so itself; every later one begins its own with `__metadata`. */
function yarnSetup(packageManager: string | undefined, lock: string, updatesLocks: boolean): string {
  const isClassic = packageManager?.startsWith('yarn@1.') ?? !/^__metadata:/m.test(lock);
  if (isClassic) return `yarn install${updatesLocks ? '' : ' --frozen-lockfile'} --non-interactive`;
  return `yarn install --${updatesLocks ? 'no-' : ''}immutable`;
}

async function goSetup({ names, read, updatesLocks }: SetupFolder): Promise<string | null> {
  if (!names.has('go.mod') || !/^\s*require\b/m.test(await read('go.mod'))) return null;
  return updatesLocks ? 'go mod tidy' : 'go mod download';
}

async function rustSetup({ names, read, updatesLocks }: SetupFolder): Promise<string | null> {
  if (!names.has('Cargo.toml')) return null;
  const toml = await read('Cargo.toml');
  const tables = [...toml.matchAll(/^\s*\[([^\]\n]+)\]/gm)].map((match) => match[1]?.trim() ?? '');
  const isNeeded = tables.some((name) => {
    const kind = /(?:^|\.)((?:dev-|build-)?dependencies)(\..+)?$/.exec(name);
    return name === 'workspace' || (kind !== null && (kind[2] !== undefined || hasKeys(tableOf(toml, name))));
  });
  if (!isNeeded) return null;
  return names.has('Cargo.lock') && !updatesLocks ? 'cargo fetch --locked' : 'cargo fetch';
}

async function rubySetup({ names, has }: SetupFolder): Promise<string | null> {
  return names.has('Gemfile') && (await has('bundle')) ? '{ bundle check || bundle install; }' : null;
}

const composerSchema = z.looseObject({
  require: z.looseObject({}).optional().catch(undefined),
  'require-dev': z.looseObject({}).optional().catch(undefined),
});

/** Without packages it only writes the loader of the project's own classes. */
async function phpSetup({ names, read, updatesLocks, has }: SetupFolder): Promise<string | null> {
  if (!names.has('composer.json') || !(await has('composer'))) return null;
  const json = composerSchema.safeParse(parseJson(await read('composer.json'))).data;
  const packages = Object.keys({ ...json?.require, ...json?.['require-dev'] });
  if (!packages.some((name) => name.includes('/'))) return 'composer dump-autoload --no-interaction';
  const install = (verb: string): string => `composer ${verb} --no-interaction --no-progress`;
  return updatesLocks ? `{ ${install('install')} || ${install('update')}; }` : install('install');
}

function hasKeys(table: string): boolean {
  return /^\s*["']?[\w-]+/m.test(table.replace(/^\s*#.*$/gm, ''));
}
