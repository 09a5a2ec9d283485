import { mkdir, rename, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Item } from '../core/item.ts';
import { keyOf } from '../core/item.ts';
import { type Paths, pathsOf, workDirectory } from '../core/paths.ts';
import { createGit, type Git } from '../git/git.ts';
import { pinsOf } from '../git/worktree/trees.ts';
import { removeFolder } from '../process/files.ts';
import { userId } from '../process/state-folder.ts';
import {
  filesBelow,
  filesInTree,
  isNeededBy,
  storeFiles,
  type TreeFiles,
  WRITTEN_FOLDERS,
  writeBlobs,
} from './document-trees.ts';
import { gitWithHub, type Remote, type RepositoryCache } from './repository-cache.ts';
import { commitResult, type ResultFiles } from './results.ts';
import type { RunSettings } from './run-settings.ts';

export interface PlaceOptions {
  /** All that the machine has of this repository. */
  folder: string;
  repository: string;
  item: Item;
  itemId: number;
  run: string;
  settings: RunSettings;
  /** The commit with the documents. */
  documents: string;
  /** Keys of implementations of the run that are done: others may build on their branches. */
  done: readonly string[];
  /** Its journal has steps: states of its worktree are needed. */
  isResumed: boolean;
  cache: RepositoryCache;
  remote: Remote;
  env: Record<string, string>;
}

/** The repository that a worker gets for one item: its own refs, and of files the documents alone. */
export interface Place {
  readonly paths: Paths;
  /** Pushes the states of the worktree that are not at the hub yet. */
  pushStates(): Promise<void>;
  /** Pushes what the item wrote, and its branch; returns the commit. */
  pushResult(): Promise<string>;
  remove(): Promise<void>;
}

/** The name of the folder is part of the paths of caches, which all items of a repository share. */
const CHECKOUT = 'checkout';

export async function preparePlace(options: PlaceOptions): Promise<Place> {
  const { folder, item, documents, env } = options;
  const root = join(folder, 'places', keyOf(item));
  const directory = join(root, CHECKOUT);
  const base = join(folder, 'state');
  const paths = pathsOf(directory, base, workDirectory(directory, base, userId()));
  // What an earlier claim of it left here is at the hub, as far as it counts.
  await clear(root, paths, item);
  await fetchMissing(options);
  const initial = await makeRepository(directory, options);
  const git = createGit(directory, env);
  const all = await filesInTree(git, documents);
  const given: TreeFiles = new Map([...all].filter(([path]) => isNeededBy(item, path)));
  await writeBlobs(git, given, directory);
  await writeFile(join(directory, '.git', 'info', 'exclude'), [...given.keys()].map((path) => `/${path}\n`).join(''));
  const stamps = new Map<string, string>();
  for (const path of given.keys()) stamps.set(path, await stampOf(join(directory, path)));
  const runPaths = paths.run(options.run);

  const url = `${options.remote.url}/git/${options.repository}`;
  const push = (refs: readonly string[]): Promise<string> =>
    gitWithHub(git, options.remote, ['-c', 'core.hooksPath=/dev/null', 'push', '--quiet', '--prune', url, ...refs]);
  const pins = `+${pinsOf(keyOf(item))}*:${remotePins(item)}*`;
  let pushed = '';
  const isImplementation = item.workflow === 'implement';
  /** What is held for it, and the branches that it made or moved. */
  const ownRefs = async (): Promise<{ refs: string; heads: string[] }> => {
    const refs = await git.text([
      'for-each-ref',
      '--format=%(objectname) %(refname)',
      pinsOf(keyOf(item)),
      'refs/heads/agentos',
    ]);
    const heads = refs.split('\n').flatMap((line) => {
      const [id = '', name = ''] = line.split(' ');
      const isOwn = name.startsWith('refs/heads/') && initial.get(name) !== id;
      return isOwn ? [`+${name}:${remoteHeads(item)}${name.slice('refs/heads/'.length)}`] : [];
    });
    return { refs, heads };
  };
  const pushStates = async (): Promise<void> => {
    if (!isImplementation) return;
    const { refs, heads } = await ownRefs();
    if (refs === pushed) return;
    await push([pins, ...heads]);
    pushed = refs;
  };

  return {
    paths,
    pushStates,
    async pushResult() {
      const files: ResultFiles = {
        repository: await changed(git, directory, stamps),
        transcripts: await stored(git, runPaths.transcripts(item.workflow, item.id)),
        reviews: await stored(git, join(paths.home(item.workflow, item.id), 'reviews')),
        undone: await stored(git, paths.undone(item.workflow, item.id)),
      };
      const commit = await commitResult(git, files, keyOf(item));
      await push([`+${commit}:refs/agentos/results/${options.itemId}`]);
      await pushStates();
      return commit;
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

async function clear(root: string, paths: Paths, { workflow, id }: Item): Promise<void> {
  const worktree = paths.worktree(workflow, id);
  const folders = [
    root,
    worktree,
    join(paths.work, 'worktree-state', keyOf({ workflow, id })),
    paths.home(workflow, id),
  ];
  for (const folder of [...folders, paths.undone(workflow, id)]) await removeFolder(folder).catch(() => undefined);
}

async function fetchMissing({
  run,
  item,
  settings,
  documents,
  done,
  isResumed,
  cache,
  remote,
}: PlaceOptions): Promise<void> {
  const ofRun = `refs/agentos/runs/${run}/*`;
  const ofOthers = done.map((key) => `refs/agentos/items/${key}/heads/*`);
  const own = isResumed && item.workflow === 'implement' ? [`refs/agentos/items/${keyOf(item)}/*`] : [];
  const isThere = await cache.has(settings.base, documents);
  if (isThere && item.workflow !== 'implement') return;
  await cache.fetch(remote, [ofRun, ...ofOthers, ...own]);
}

/** A repository whose objects are the cache's. Made by hand: git would take a process for each of these files. */
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
  // By HEAD git takes the folder for a repository, so that it comes last.
  await writeFile(join(dotGit, 'HEAD.new'), `${base}\n`);
  await rename(join(dotGit, 'HEAD.new'), join(dotGit, 'HEAD'));
  return refs;
}

/** The submitter's branches, those of the run's other items, and what an earlier claim of this one went through. */
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
    const listing = await cache.git.text(['for-each-ref', '--format=%(objectname) %(refname)', from]);
    for (const line of listing.split('\n').filter(Boolean)) {
      const [id = '', name = ''] = line.split(' ');
      refs.set(to + name.slice(from.length), id);
    }
  }
  return refs;
}

function packedRefs(refs: ReadonlyMap<string, string>): string {
  const lines = [...refs].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([ref, id]) => `${id} ${ref}\n`);
  return `# pack-refs with: sorted \n${lines.join('')}`;
}

function quoted(text: string): string {
  return `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;
}

async function stampOf(path: string): Promise<string> {
  const { size, mtimeMs, ino } = await stat(path);
  return `${size} ${mtimeMs} ${ino}`;
}

/** Documents that are new or were written again. */
async function changed(git: Git, directory: string, stamps: ReadonlyMap<string, string>): Promise<TreeFiles> {
  const found: string[] = [];
  for (const folder of WRITTEN_FOLDERS)
    for (const path of await filesBelow(directory, folder))
      if ((await stampOf(join(directory, path))) !== stamps.get(path)) found.push(path);
  return blobs(git, directory, found);
}

async function stored(git: Git, folder: string): Promise<TreeFiles> {
  return blobs(git, folder, await filesBelow(folder, ''));
}

async function blobs(git: Git, folder: string, paths: readonly string[]): Promise<TreeFiles> {
  const ids = await storeFiles(
    git,
    paths.map((path) => join(folder, path)),
  );
  return new Map(paths.map((path, index) => [path, ids[index] ?? '']));
}
