import { existsSync, statSync } from 'node:fs';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type Item, keyOf } from '../core/item.ts';
import { isInside, type Paths, pathsOf, workDirectory } from '../core/paths.ts';
import { refsBelow } from '../git/branches.ts';
import { createGit } from '../git/git.ts';
import { pinsOf } from '../git/worktree/trees.ts';
import { removeFolder } from '../process/files.ts';
import { userId } from '../process/state-folder.ts';
import { filesBelow, WRITTEN_FOLDERS } from './document-trees.ts';
import { gitWithHub, type Remote, type RepositoryCache } from './repository-cache.ts';
import { folderContents, type ItemResult, type StoredFiles, storedFiles, writePlainFiles } from './results.ts';
import type { RunSettings } from './run-settings.ts';

export interface PlaceOptions {
  /** The machine's folder for this repository. */
  folder: string;
  repository: string;
  item: Item;
  run: string;
  settings: RunSettings;
  /** The documents that the item needs, by path. */
  documents: ReadonlyMap<string, Buffer>;
  /** Keys of the run's finished implementations: the item may build on their branches. */
  done: readonly string[];
  /** The journal has steps, so the states of the worktree are needed. */
  isResumed: boolean;
  cache: RepositoryCache;
  remote: Remote;
  env: Record<string, string>;
}

/** The repository that a worker gets for one item. It has refs of its own, and only the documents are checked out. */
export interface Place {
  readonly paths: Paths;
  /** Pushes new states of the worktree to the hub. */
  pushStates(): Promise<void>;
  /** Pushes the branch and returns the files that the item wrote. */
  collect(): Promise<ItemResult>;
  remove(): Promise<void>;
}

/** The same for all items: the folder's name is part of the path of caches that the items of a repository share. */
const CHECKOUT = 'checkout';

export async function preparePlace(options: PlaceOptions): Promise<Place> {
  const { folder, item, documents, env } = options;
  const root = join(folder, 'places', keyOf(item));
  const paths = placePaths(folder, keyOf(item));
  const directory = paths.repository;
  // Whatever counts of an earlier claim is at the hub.
  await clear(root, paths, item);
  await fetchMissing(options);
  const initial = await makeRepository(directory, options);
  const git = createGit(directory, env);
  writePlainFiles(directory, documents);
  await writeFile(
    join(directory, '.git', 'info', 'exclude'),
    [...documents.keys()].map((path) => `/${path}\n`).join(''),
  );
  const stamps = new Map<string, string>();
  for (const path of documents.keys()) stamps.set(path, stampOf(join(directory, path)));
  const transcripts = paths.run(options.run).transcripts(item.workflow, item.id);

  const url = `${options.remote.relay.url}/git/${options.repository}`;
  const push = (refs: readonly string[]): Promise<string> =>
    gitWithHub(git, options.remote, ['-c', 'core.hooksPath=/dev/null', 'push', '--quiet', '--prune', url, ...refs]);
  const pins = `+${pinsOf(keyOf(item))}*:${remotePins(item)}*`;
  let pushed = '[]';
  const isImplementation = item.workflow === 'implement';
  const pushStates = async (): Promise<void> => {
    if (!isImplementation) return;
    const refs = await refsBelow(git, pinsOf(keyOf(item)), 'refs/heads/agentos');
    const state = JSON.stringify([...refs]);
    if (state === pushed) return;
    // The branches that the item created or moved.
    const heads = [...refs].flatMap(([name, id]) =>
      name.startsWith('refs/heads/') && initial.get(name) !== id
        ? [`+${name}:${remoteHeads(item)}${name.slice('refs/heads/'.length)}`]
        : [],
    );
    await push([pins, ...heads]);
    pushed = state;
  };

  return {
    paths,
    pushStates,
    async collect() {
      await pushStates();
      return {
        repository: await changed(directory, stamps),
        transcripts: await folderContents(transcripts),
        reviews: await folderContents(join(paths.home(item.workflow, item.id), 'reviews')),
        undone: await folderContents(paths.undone(item.workflow, item.id)),
      };
    },
    remove: () => clear(root, paths, item),
  };
}

export function remotePins({ workflow, id }: Item): string {
  return `refs/agentos/items/${keyOf({ workflow, id })}/pins/`;
}

export function remoteHeads({ workflow, id }: Item): string {
  return `refs/agentos/items/${keyOf({ workflow, id })}/heads/`;
}

/** Removes the places of an earlier process. Whatever counts of them is at the hub. */
export async function clearPlaces(folder: string): Promise<void> {
  const { work, worktrees, homes } = placePaths(folder, 'none');
  for (const left of [join(folder, 'places'), worktrees, homes, join(work, 'worktree-state')])
    await removeFolder(left, left.startsWith(folder) ? folder : work).catch(() => undefined);
}

function placePaths(folder: string, key: string): Paths {
  const directory = join(folder, 'places', key, CHECKOUT);
  const base = join(folder, 'state');
  return pathsOf(directory, base, workDirectory(directory, base, userId()));
}

async function clear(root: string, paths: Paths, { workflow, id }: Item): Promise<void> {
  const worktree = paths.worktree(workflow, id);
  const folders = [
    root,
    worktree,
    join(paths.work, 'worktree-state', keyOf({ workflow, id })),
    paths.home(workflow, id),
  ];
  for (const folder of [...folders, paths.undone(workflow, id)]) {
    const inside = [dirname(root), paths.base, paths.work].find((one) => isInside(one, folder));
    if (inside !== undefined && existsSync(folder)) await removeFolder(folder, inside).catch(() => undefined);
  }
}

/** Fetches branches and states of items, which change. What was submitted is here. */
async function fetchMissing({ item, done, isResumed, cache, remote }: PlaceOptions): Promise<void> {
  if (item.workflow !== 'implement') return;
  const ofOthers = done.map((key) => `refs/agentos/items/${key}/heads/*`);
  const own = isResumed ? [`refs/agentos/items/${keyOf(item)}/*`] : [];
  if (done.length > 0 || isResumed) await cache.fetch(remote, [...ofOthers, ...own]);
}

/** Creates a repository that borrows the objects of the cache. Written by hand: git would need a process for each of these files. */
async function makeRepository(
  directory: string,
  { item, run, settings, done, isResumed, cache, repository }: PlaceOptions,
): Promise<Map<string, string>> {
  const dotGit = join(directory, '.git');
  for (const folder of ['objects/info', 'objects/pack', 'refs/heads', 'refs/tags', 'info'])
    await mkdir(join(dotGit, folder), { recursive: true });
  const { identity, base } = settings;
  const format =
    repository.length > 40
      ? { version: 1, extra: '[extensions]\n\tobjectformat = sha256\n' }
      : { version: 0, extra: '' };
  const user =
    identity === null ? '' : `[user]\n\tname = ${quoted(identity.name)}\n\temail = ${quoted(identity.email)}\n`;
  const config = `[core]\n\trepositoryformatversion = ${format.version}\n\tbare = false\n\tautocrlf = false\n[gc]\n\tauto = 0\n${format.extra}${user}`;
  await writeFile(join(dotGit, 'config'), config);
  await writeFile(join(dotGit, 'objects', 'info', 'alternates'), `${join(cache.directory, 'objects')}\n`);
  const refs =
    item.workflow === 'implement' ? await refsFor({ item, run, done, isResumed, cache }) : new Map<string, string>();
  await writeFile(join(dotGit, 'packed-refs'), packedRefs(refs));
  // Last: git takes a folder with HEAD for a repository.
  await writeFile(join(dotGit, 'HEAD.new'), `${base}\n`);
  await rename(join(dotGit, 'HEAD.new'), join(dotGit, 'HEAD'));
  return refs;
}

/** The submitter's branches, those of the run's other items, and the states and branches of an earlier claim. */
async function refsFor({
  item,
  run,
  done,
  isResumed,
  cache,
}: Pick<PlaceOptions, 'item' | 'run' | 'done' | 'isResumed' | 'cache'>): Promise<Map<string, string>> {
  const places: [from: string, to: string][] = [
    [`refs/agentos/runs/${run}/heads/`, 'refs/heads/'],
    ...done.map((key): [string, string] => [`refs/agentos/items/${key}/heads/`, 'refs/heads/']),
    ...(isResumed
      ? ([
          [remoteHeads(item), 'refs/heads/'],
          [remotePins(item), pinsOf(keyOf(item))],
        ] as [string, string][])
      : []),
  ];
  const refs = new Map<string, string>();
  for (const [from, to] of places) {
    for (const [name, id] of await refsBelow(cache.git, from)) refs.set(to + name.slice(from.length), id);
  }
  return refs;
}

function packedRefs(refs: ReadonlyMap<string, string>): string {
  const lines = [...refs].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([ref, id]) => `${id} ${ref}\n`);
  return `# pack-refs with: sorted \n${lines.join('')}`;
}

function quoted(text: string): string {
  return `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')}"`;
}

function stampOf(path: string): string {
  const { size, mtimeMs, ino } = statSync(path);
  return `${size} ${mtimeMs} ${ino}`;
}

/** Documents that are new or have changed. */
async function changed(directory: string, stamps: ReadonlyMap<string, string>): Promise<StoredFiles> {
  const found: string[] = [];
  for (const folder of WRITTEN_FOLDERS)
    for (const path of await filesBelow(directory, folder))
      if (stampOf(join(directory, path)) !== stamps.get(path)) found.push(path);
  return storedFiles(directory, found);
}
