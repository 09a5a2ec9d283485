import { lstatSync, type Stats } from 'node:fs';
import { basename, dirname, join, resolve, sep } from 'node:path';
import { setImmediate as breathe } from 'node:timers/promises';
import { sha256 } from '../core/hash.ts';
import { itemOfKey } from '../core/item.ts';
import { idReactedTo } from '../core/reaction.ts';
import { namesInSync, textIfReadable } from '../process/files.ts';
import { livingHolder } from '../process/lock.ts';
import { isTemporaryFile, STATE_ENTRIES } from '../process/state-folder.ts';
import type { Git } from './git.ts';
import { toolFilePatterns } from './ignore-patterns.ts';

interface OutsideOptions {
  /** The user's checkout. */
  repository: string;
  base: string;
  /** The item's worktree, which is not watched. */
  worktree: string;
  git: Git;
  /** Files or folders that we ourselves write meanwhile, relative to the repository. */
  except?: readonly string[];
}

/**
 * What a change of a file means. A person may work in the checkout while agents run, and we can't see who made a change. A change that
 * no person has a reason to make is blamed on the agent.
 *
 * tracked     a warning
 * untracked   a new one is a fault; a warning otherwise
 * minor       ignored files; issues and briefs, which people write at any time: a warning
 * moved       what a person's git moves: what is staged, HEAD, branches that are checked out, tags: a warning
 * foreign     settings, hooks and other branches of the repository; the state folder; another item's LLD, branch, worktree, home or
 *             checkpoint, unless a run of ours worked on it: a fault
 */
export type OutsideKind = 'tracked' | 'untracked' | 'minor' | 'moved' | 'foreign';

/** The state of every file around a worktree, without its contents. */
export interface OutsideView {
  readonly repository: string;
  readonly base: string;
  /** The time, by the system's clock. */
  readonly atMs: number;
  /** Signatures by path, relative to the repository if inside. */
  readonly entries: ReadonlyMap<string, string>;
  /** The kinds of all entries that are not tracked files. */
  readonly kinds: ReadonlyMap<string, OutsideKind>;
  /** The keys of items that entries may belong to. */
  readonly owners: ReadonlyMap<string, readonly string[]>;
  /** Keys of items that a run works on. */
  readonly busy: ReadonlySet<string>;
  /** The size of the events of each run. */
  readonly events: ReadonlyMap<string, number>;
}

const IN_A_ROW = 1_000;
const MOST_IN_FOLDER = 2_000;
const READING = /^reading-\d+$/;
const DESIGN = /^docs\/lld\/LLD-([a-zA-Z0-9_-]+)\.md$/;
const INPUT = /^(?:issues|briefs)\//;
/** Temporary files of editors. */
const EDITORS = ['*~', '.#*', '#*#', '4913', '.*.sw?', '*___jb_tmp___', '*___jb_old___', '.~lock.*#'];

/**
 * Looks at everything that an agent could have written to instead of its worktree: the user's files, tracked or not;
 * ignored files, and ignored folders one level deep; branches, settings and hooks of the repository; the base
 * directory; and what belongs to items that no run works on. Of files only names and dates are read, but for a few small ones
 * of git's.
 */
export async function lookOutside(options: OutsideOptions): Promise<OutsideView> {
  const { repository, base, git } = options;
  const atMs = Date.now();
  const entries = new Map<string, string>();
  const kinds = new Map<string, OutsideKind>();
  const owners = new Map<string, readonly string[]>();
  const isExcept = createIsBelow((options.except ?? []).map((path) => nameOf(repository, resolve(repository, path))));
  const state = nameOf(repository, base);
  const isState = createIsBelow([state]);
  const set = (name: string, signature: string, kind: OutsideKind): void => {
    entries.set(name, signature);
    if (kind !== 'tracked') kinds.set(name, kind);
  };
  const note = (name: string, found: Stats | null, kind: OutsideKind): void => {
    if (found !== null && !isExcept(name) && !isTemporaryFile(basename(name))) set(name, signatureOf(found), kind);
  };
  const noteFolder = (name: string, kind: OutsideKind, isWanted: (child: string) => boolean = () => true): void => {
    const folder = resolve(repository, name);
    for (const child of namesIn(folder).filter(isWanted)) note(`${name}/${child}`, statOf(`${folder}/${child}`), kind);
  };

  const noise = [...toolFilePatterns(repository), ...EDITORS].map((pattern) => `--exclude=${pattern}`);
  const [staged, others, ignored, refs, folders] = await Promise.all([
    git.run(['ls-files', '-z', '--stage']),
    git.run(['ls-files', '-z', '--others', '--exclude-standard', ...noise]),
    git.run(['ls-files', '-z', '--others', '--ignored', '--exclude-standard', '--directory']),
    git.text(['for-each-ref', '--format=%(refname) %(objectname) %(worktreepath)']),
    git.text(['rev-parse', '--path-format=absolute', '--git-dir', '--git-common-dir']),
  ]);

  const [gitDir = '', commonDir = ''] = folders.split('\n');

  let count = 0;
  for (const [listing, kind] of [
    [staged, 'tracked'],
    [others, 'untracked'],
    [ignored, 'minor'],
  ] as const) {
    for (const listed of namesListed(listing)) {
      count += 1;
      if (count % IN_A_ROW === 0) await breathe();
      const name = listed.endsWith('/') ? listed.slice(0, -1) : listed;
      if (isState(name) || state.startsWith(`${name}/`)) continue;
      const found = statOf(`${repository}/${name}`);
      const design = DESIGN.exec(name)?.[1];
      if (design !== undefined) owners.set(name, [`lld-${design}`]);
      const isInput = kind === 'untracked' && INPUT.test(name);
      note(name, found, design !== undefined ? 'foreign' : isInput ? 'minor' : kind);
      // An ignored folder, a submodule, or another repository inside this one.
      if (found?.isDirectory()) noteFolder(name, kind === 'untracked' ? kind : 'minor');
    }
  }

  // By what is staged: git refreshes the file at any time.
  set(nameOf(repository, join(gitDir, 'index')), sha256(staged.toString('latin1')), 'moved');
  const own = basename(options.worktree);
  // By value, not by file, because git may pack refs at any time.
  for (const line of refs.split('\n').filter(Boolean)) {
    const [, ref = '', object = '', checkedOutAt = ''] = /^(\S+) (\S+) ?(.*)$/.exec(line) ?? [];
    const items = itemsOfRef(ref);
    // A run may push or combine branches at any time.
    if (items.includes(own) || /^refs\/remotes\/[^/]+\/agentos\//.test(ref)) continue;
    const name = `${nameOf(repository, commonDir)}/${ref}`;
    if (items.length > 0) owners.set(name, items);
    const isAside = /^refs\/(?:heads\/(?!agentos\/land-)|replace\/)/.test(ref) && checkedOutAt === '';
    set(name, object, items.length > 0 || isAside ? 'foreign' : 'moved');
  }
  const noteContent = (path: string, kind: OutsideKind): void => {
    const text = textIfReadable(path);
    if (text !== null) set(nameOf(repository, path), sha256(text), kind);
  };
  // By content: git rewrites these without changing anything.
  noteContent(join(gitDir, 'HEAD'), 'moved');
  const repositories = [commonDir, ...moduleFolders(join(commonDir, 'modules'))];
  const settings = repositories.flatMap((folder) => SETTINGS.map((name) => join(folder, name)));
  const info = namesIn(join(commonDir, 'info')).map((name) => join(commonDir, 'info', name));
  for (const path of [...settings, ...info]) noteContent(path, 'foreign');
  for (const folder of repositories) noteFolder(nameOf(repository, join(folder, 'hooks')), 'foreign');

  noteFolder(state, 'foreign', (name) => !STATE_ENTRIES.has(name));
  noteFolder(
    nameOf(repository, dirname(options.worktree)),
    'foreign',
    (name) => itemOfKey(name) === null && !READING.test(name),
  );
  const work = dirname(dirname(options.worktree));
  const busy = busyItems(base);
  for (const item of otherItems(base, work, own).filter((key) => !busy.has(key))) {
    const noteOf = (path: string, found: Stats | null): void => {
      owners.set(nameOf(repository, path), [item]);
      note(nameOf(repository, path), found, 'foreign');
    };
    for (const folder of ['worktrees', 'homes', 'worktree-state']) walk(join(work, folder, item), noteOf);
    const checkpoint = join(base, 'checkpoints', `${item}.db`);
    for (const path of [checkpoint, `${checkpoint}-wal`]) noteOf(path, statOf(path));
  }
  return { repository, base, atMs, entries, kinds, owners, busy, events: eventSizes(base) };
}

/**
 * Keys of items that may move it. By its name alone `agentos/4-2-x` may be a branch of item 4, 4-2 or 4-2-x, and a reaction moves
 * the branch of its pull request when it ends.
 */
function itemsOfRef(ref: string): string[] {
  const pins = /^refs\/agentos\/([^/]+)\//.exec(ref)?.[1];
  if (pins !== undefined) return [pins];
  const branch = /^refs\/heads\/agentos\/(.+)$/.exec(ref)?.[1];
  if (branch === undefined || branch.startsWith('land-')) return [];
  const reacting = idReactedTo(`agentos/${branch}`);
  const items = reacting === null ? [] : [`react-${reacting}`];
  for (let end = branch.length; end > 0; end = branch.lastIndexOf('-', end - 1))
    items.push(`implement-${branch.slice(0, end)}`, `react-${branch.slice(0, end)}`);
  return items;
}

/** Staged entries start with mode, hash, stage and a tab. */
function* namesListed(listing: Buffer): Generator<string> {
  for (const entry of listing.toString('utf8').split('\0')) {
    if (entry !== '') yield STAGED.test(entry) ? entry.slice(entry.indexOf('\t') + 1) : entry;
  }
}

const STAGED = /^\d{6} [0-9a-f]{40,64} \d\t/;

export function eventSizes(base: string): Map<string, number> {
  const files = namesIn(join(base, 'runs')).map((run) => join(base, 'runs', run, 'events.jsonl'));
  return new Map(files.map((file) => [file, statOf(file)?.size ?? 0]));
}

/** Items whose lock a running process holds. */
function busyItems(base: string): Set<string> {
  const locks = namesIn(join(base, 'locks')).filter((name) => name.endsWith('.lock'));
  const held = locks.filter((name) => livingHolder(join(base, 'locks', name)) !== null);
  return new Set(held.map((name) => name.slice(0, -'.lock'.length)));
}

/** All other items with files on this machine. */
function otherItems(base: string, work: string, own: string): string[] {
  const folders = ['worktrees', 'homes', 'worktree-state'].flatMap((folder) => namesIn(join(work, folder)));
  const checkpoints = namesIn(join(base, 'checkpoints')).map((name) => name.replace(/\.db(?:-wal)?$/, ''));
  return [...new Set([...folders, ...checkpoints])].filter((name) => name !== own && itemOfKey(name) !== null);
}

/** Every file below a folder, up to a bound. */
function walk(folder: string, onFile: (path: string, found: Stats) => void): void {
  const folders = [folder];
  let left = MOST_IN_FOLDER;
  for (const at of folders) {
    for (const name of namesIn(at)) {
      const path = join(at, name);
      const found = name === '.git' || name === 'node_modules' ? null : statOf(path);
      if (found === null) continue;
      if (left-- === 0) return;
      if (found.isDirectory()) folders.push(path);
      else onFile(path, found);
    }
  }
}

/** Files of a repository that name programs, or the source of its objects and history. */
const SETTINGS = ['config', 'config.worktree', 'shallow', 'objects/info/alternates'];
const DEEPEST_MODULE = 16;

/** The repositories of submodules, by names that may have several parts. */
function moduleFolders(folder: string, depth = 0): string[] {
  if (depth > DEEPEST_MODULE) return [];
  return namesIn(folder).flatMap((name) => {
    const path = join(folder, name);
    if (statOf(path)?.isDirectory() !== true) return [];
    const isRepository = statOf(join(path, 'HEAD')) !== null;
    return isRepository ? [path, ...moduleFolders(join(path, 'modules'), depth + 1)] : moduleFolders(path, depth + 1);
  });
}

/** Compares text only, because there may be very many paths. */
function createIsBelow(folders: readonly string[]): (name: string) => boolean {
  const starts = folders.map((folder) => `${folder}/`);
  return (name) => folders.includes(name) || starts.some((start) => name.startsWith(start));
}

function statOf(path: string): Stats | null {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) ?? null;
  } catch {
    return null;
  }
}

/** Includes ctime, which can't be set back, unlike mtime. */
function signatureOf({ mode, size, mtimeMs, ctimeMs, ino }: Stats): string {
  return `${mode} ${size} ${mtimeMs} ${ctimeMs} ${ino}`;
}

function namesIn(folder: string): string[] {
  return namesInSync(folder).slice(0, MOST_IN_FOLDER);
}

export function nameOf(repository: string, path: string): string {
  const plain = path.endsWith(sep) ? path.slice(0, -1) : path;
  return plain.startsWith(repository + sep) ? plain.slice(repository.length + 1) : plain;
}
