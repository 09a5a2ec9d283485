import { readdir, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { ItemId } from '../core/ids.ts';
import type { Paths } from '../core/paths.ts';
import { isProcessAlive } from './process-state.ts';

/** How what is on its way to its place is called: by the process that writes it. */
const NAMES = [
  /^\.(\d+)-(?:new-)?\d+\.tmp$/,
  /\.lock(?:\.guard)?\.(\d+)$/,
  /\.db\.new-(\d+)(?:-(?:wal|shm|journal))?$/,
];

/** Whether a file has such a name, its writer alive or not. */
export function isUnfinished(name: string): boolean {
  return writerOf(name) !== null;
}

/** Files in our places whose writers are gone. */
export async function unfinishedFiles(paths: Paths): Promise<string[]> {
  const id = 'x' as ItemId;
  const { base, repository } = paths;
  const alone = [base, dirname(paths.lock('lld', id)), dirname(paths.checkpoint('lld', id))];
  const written = [dirname(paths.lld(id)), paths.issues, join(repository, 'docs')];
  const ofItems = [
    paths.runs,
    dirname(paths.lineage(id)),
    dirname(paths.home('lld', id)),
    dirname(paths.undone('lld', id)),
  ];
  const below = await Promise.all(ofItems.map(foldersIn));
  const reviews = below[2]?.map((home) => join(home, 'reviews')) ?? [];
  const folders = [...alone, ...written, ...ofItems, ...below.flat(), ...reviews];
  return (await Promise.all(folders.map(unfinishedIn))).flat();
}

/** Removes what writers that were killed left in one folder. */
export async function removeUnfinishedFiles(directory: string): Promise<void> {
  for (const path of await unfinishedIn(directory)) await rm(path, { force: true }).catch(() => undefined);
}

async function unfinishedIn(directory: string): Promise<string[]> {
  const names = await readdir(directory).catch(() => []);
  const found: string[] = [];
  for (const name of names) {
    const writer = writerOf(name);
    const path = join(directory, name);
    if (writer !== null && (writer === process.pid ? await isOlderThanUs(path) : !isProcessAlive(writer)))
      found.push(path);
  }
  return found;
}

async function foldersIn(directory: string): Promise<string[]> {
  const entries = await readdir(directory, { withFileTypes: true }).catch(() => []);
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(directory, name));
}

function writerOf(name: string): number | null {
  for (const pattern of NAMES) {
    const pid = Number(pattern.exec(name)?.[1]);
    if (pid > 0) return pid;
  }
  return null;
}

/** In a container every program may have the same number. */
async function isOlderThanUs(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => null);
  return found !== null && found.mtimeMs < performance.timeOrigin;
}
