import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { AgentosError } from '../core/errors.ts';
import { parseJson } from '../core/json.ts';
import { reasonIn } from '../core/reason.ts';
import { manifestText } from './files.ts';
import { findProgram, type ProgramOptions, runProgram } from './program.ts';
import { pythonSetup, REQUIREMENTS } from './python.ts';

/**
 * The command that prepares a worktree, by its manifests and lock files; null: nothing to prepare. `path`: the PATH in which
 * programs are looked up. `locks`: `updated` if manifests were changed and lock files have to follow. `packages`: folders of
 * the packages that are tested, which may have dependencies of their own.
 */
export async function detectSetup(
  directory: string,
  path: string | undefined,
  { locks = 'frozen', packages = [] }: { locks?: 'frozen' | 'updated'; packages?: readonly string[] } = {},
): Promise<string | null> {
  const covered = new Set<Ecosystem>();
  const commands: string[] = [];
  for (const folder of withFoldersAbove(packages)) {
    const place = join(directory, folder);
    const setupFolder: SetupFolder = {
      names: new Set(await readdir(place).catch(() => [] as string[])),
      read: (name) => manifestText(join(place, name), directory),
      updatesLocks: locks === 'updated',
      has: async (program) => (await findProgram(program, path)) !== null,
    };
    for (const ecosystem of ECOSYSTEMS) {
      if (covered.has(ecosystem) && !ecosystem.isOwn?.(setupFolder.names)) continue;
      const command = await ecosystem.detect(setupFolder);
      if (command !== null) commands.push(folder === '' ? command : `(cd ${quoted(folder)} && ${command})`);
      if (ecosystem.covers?.(setupFolder)) covered.add(ecosystem);
    }
  }
  return commands.length === 0 ? null : commands.join(' && ');
}

function quoted(folder: string): string {
  return `'${folder.replaceAll("'", `'\\''`)}'`;
}

/** The top, the folders, and all folders in between; outer ones first. */
function withFoldersAbove(folders: readonly string[]): string[] {
  const all = folders.flatMap((folder) => {
    const parts = folder.split('/');
    return parts.map((_, at) => parts.slice(0, at + 1).join('/'));
  });
  return [...new Set(['', ...all])];
}

interface SetupOptions {
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

/** Runs the set-up. A failure is permanent until a person does something; a timeout is transient. */
export async function runSetup({ directory, ...program }: SetupOptions): Promise<void> {
  const { command, timeoutMs } = program;
  const end = await runProgram({ ...program, cwd: directory, maySleep: true });
  if (end.exitCode === 0 && !end.timedOut) return;
  const said = reasonIn(end.tail);
  const detail = end.timedOut
    ? `timed out after ${Math.round(timeoutMs / 1_000)} s${said ? `: ${said}` : ''}`
    : said || (end.signal === null ? 'it said nothing' : `ended by ${end.signal}`);
  throw new AgentosError(
    { code: 'setup-failed', command, exitCode: end.exitCode, detail },
    { retry: end.timedOut ? 'transient' : 'permanent' },
  );
}

/** A folder with manifests. */
export interface SetupFolder {
  names: ReadonlySet<string>;
  /** Empty if the file can't be read. */
  read: (name: string) => string;
  /** Whether lock files may be updated to match changed manifests. */
  updatesLocks: boolean;
  /** Whether a program is on PATH. */
  has: (program: string) => Promise<boolean>;
}

/** How the packages of one language are installed. */
interface Ecosystem {
  detect: (folder: SetupFolder) => Promise<string | null>;
  /** Whether the set-up of this folder also installs the packages below it. */
  covers?: (folder: SetupFolder) => boolean;
  /** Whether a folder below has a set-up of its own nevertheless. */
  isOwn?: (names: ReadonlySet<string>) => boolean;
}

type NodeManager = 'pnpm' | 'bun' | 'yarn' | 'npm';

const NODE_LOCKS: Readonly<Record<string, NodeManager>> = {
  'pnpm-lock.yaml': 'pnpm',
  'bun.lock': 'bun',
  'bun.lockb': 'bun',
  'yarn.lock': 'yarn',
  'package-lock.json': 'npm',
  'npm-shrinkwrap.json': 'npm',
};

const SETUP_FILES: ReadonlySet<string> = new Set([
  ...Object.keys(NODE_LOCKS),
  ...[
    'package.json pyproject.toml uv.lock poetry.lock pdm.lock setup.py setup.cfg go.mod go.sum Cargo.toml Cargo.lock Gemfile',
    'Gemfile.lock composer.json composer.lock',
  ].flatMap((names) => names.split(' ')),
]);

/** Whether installed packages depend on this file, in any folder. */
export function isSetupFile(path: string): boolean {
  const name = path.slice(path.lastIndexOf('/') + 1);
  return SETUP_FILES.has(name) || REQUIREMENTS.test(name);
}

const table = z.looseObject({}).optional().catch(undefined);

const packageSchema = z.looseObject({
  packageManager: z.string().optional().catch(undefined),
  dependencies: table,
  devDependencies: table,
  optionalDependencies: table,
  peerDependencies: table,
  workspaces: z.unknown().optional(),
  scripts: table,
});

const NPM_FLAGS = '--no-audit --no-fund --prefer-offline';
const INSTALL_SCRIPTS = ['preinstall', 'install', 'postinstall', 'prepare'];

/** By the lock file, else the field `packageManager` or the workspace file. `names`: the files of the folder. */
export function nodeManager(names: ReadonlySet<string>, field = ''): { manager: NodeManager; isLocked: boolean } {
  const locked = Object.entries(NODE_LOCKS).find(([lock]) => names.has(lock))?.[1];
  if (locked !== undefined) return { manager: locked, isLocked: true };
  const named = Object.values(NODE_LOCKS).find((manager) => field.startsWith(`${manager}@`));
  return { manager: named ?? (names.has('pnpm-workspace.yaml') ? 'pnpm' : 'npm'), isLocked: false };
}

async function nodeSetup({ names, read, updatesLocks }: SetupFolder): Promise<string | null> {
  if (!names.has('package.json')) return null;
  const json = packageSchema.safeParse(parseJson(read('package.json').replace(/^\uFEFF/, ''))).data;
  if (json === undefined) return null;
  const { manager, isLocked } = nodeManager(names, json.packageManager);
  const lists = [json.dependencies, json.devDependencies, json.optionalDependencies, json.peerDependencies];
  const isNeeded =
    isLocked ||
    manager === 'pnpm' ||
    lists.some((list) => Object.keys(list ?? {}).length > 0) ||
    json.workspaces !== undefined ||
    INSTALL_SCRIPTS.some((name) => name in (json.scripts ?? {}));
  if (!isNeeded) return null;
  const isFrozen = isLocked && !updatesLocks;
  switch (manager) {
    case 'pnpm':
      return `pnpm install --${isFrozen ? '' : 'no-'}frozen-lockfile`;
    case 'bun':
      return `bun install${isFrozen ? ' --frozen-lockfile' : ''}`;
    case 'yarn':
      return yarnSetup(json.packageManager, read('yarn.lock'), isFrozen);
    case 'npm':
      return `npm ${isFrozen ? 'ci' : isLocked ? 'install' : 'install --no-package-lock'} ${NPM_FLAGS}`;
  }
}

/** Lock files of yarn 2 and later start with `__metadata`. */
function yarnSetup(packageManager: string | undefined, lock: string, isFrozen: boolean): string {
  const isClassic = packageManager?.startsWith('yarn@1.') ?? !/^__metadata:/m.test(lock);
  if (isClassic) return `yarn install${isFrozen ? ' --frozen-lockfile' : ''} --non-interactive`;
  return `yarn install --${isFrozen ? '' : 'no-'}immutable`;
}

async function goSetup({ names, updatesLocks }: SetupFolder): Promise<string | null> {
  if (!names.has('go.mod')) return null;
  return updatesLocks ? 'go mod tidy' : 'go mod download';
}

async function rustSetup({ names, updatesLocks }: SetupFolder): Promise<string | null> {
  if (!names.has('Cargo.toml')) return null;
  return names.has('Cargo.lock') && !updatesLocks ? 'cargo fetch --locked' : 'cargo fetch';
}

async function rubySetup({ names, has }: SetupFolder): Promise<string | null> {
  return names.has('Gemfile') && (await has('bundle')) ? '{ bundle check || bundle install; }' : null;
}

const composerSchema = z.looseObject({ require: table, 'require-dev': table });

/** Without dependencies, only the class loader is generated. */
async function phpSetup({ names, read, updatesLocks, has }: SetupFolder): Promise<string | null> {
  if (!names.has('composer.json') || !(await has('composer'))) return null;
  const json = composerSchema.safeParse(parseJson(read('composer.json'))).data;
  const packages = Object.keys({ ...json?.require, ...json?.['require-dev'] });
  if (!packages.some((name) => name.includes('/'))) return 'composer dump-autoload --no-interaction';
  const install = (verb: string): string => `composer ${verb} --no-interaction --no-progress`;
  return updatesLocks ? `{ ${install('install')} || ${install('update')}; }` : install('install');
}

function isNodeWorkspace({ names, read }: SetupFolder): boolean {
  if (names.has('pnpm-workspace.yaml')) return true;
  return packageSchema.safeParse(parseJson(read('package.json'))).data?.workspaces !== undefined;
}

const PYTHON_LOCKS = ['uv.lock', 'poetry.lock', 'pdm.lock'];

const ECOSYSTEMS: readonly Ecosystem[] = [
  { detect: nodeSetup, covers: isNodeWorkspace, isOwn: (names) => nodeManager(names).isLocked },
  { detect: pythonSetup, covers: ({ names }) => PYTHON_LOCKS.some((lock) => names.has(lock)) },
  { detect: goSetup },
  { detect: rustSetup, covers: ({ names }) => names.has('Cargo.toml') },
  { detect: rubySetup },
  { detect: phpSetup },
];
