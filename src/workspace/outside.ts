import { lstatSync, readdirSync, readFileSync, type Stats } from 'node:fs';
import { dirname, join, resolve, sep } from 'node:path';
import { setImmediate as breathe } from 'node:timers/promises';
import { sha256 } from '../core/hash.ts';
import type { Git } from './git.ts';
import { STATE_ENTRIES } from './state-folder.ts';

export interface OutsideOptions {
  /** The user's checkout. */
  repository: string;
  base: string;
  /** Of the item: what changes in there is its business. */
  worktree: string;
  git: Git;
  /** What others of ours write meanwhile: files or folders, relative to the repository. */
  except?: readonly string[];
}

/** What can be told of every file around a worktree without reading it. */
export interface OutsideView {
  /** By path, relative to the repository where it is in there. */
  readonly entries: ReadonlyMap<string, string>;
}

const IN_A_ROW = 1_000;
const MOST_IN_FOLDER = 2_000;
const SETTINGS = ['config', 'info/exclude', 'info/attributes'];
const OWN_WORKTREE = /^(?:lld|issue|implement)-[a-zA-Z0-9_-]+$/;
/** A file on its way to its place. */
const TEMPORARY = /^\.\d+-\d+\.tmp$/;

/**
 * Looks at everything that an agent could have written to instead of its worktree: the user's files, tracked or not;
 * ignored files, and ignored folders one level deep; branches, settings and hooks of the repository; and the base
 * directory. Of files only names and dates are read, but for a few small ones of git's.
 */
export async function lookOutside(options: OutsideOptions): Promise<OutsideView> {
  const { repository, base, git } = options;
  const entries = new Map<string, string>();
  const isExcept = createIsBelow((options.except ?? []).map((path) => nameOf(repository, resolve(repository, path))));
  const state = nameOf(repository, base);
  const isState = createIsBelow([state]);
  const note = (name: string, found: Stats | null): void => {
    if (found !== null && !isExcept(name)) entries.set(name, signatureOf(found));
  };
  const noteFolder = (name: string, isWanted: (child: string) => boolean = () => true): void => {
    const folder = resolve(repository, name);
    for (const child of namesIn(folder).filter(isWanted)) note(`${name}/${child}`, statOf(`${folder}/${child}`));
  };

  const [staged, others, ignored, refs, [gitDir, commonDir]] = await Promise.all([
    git.run(['ls-files', '-z', '--stage']),
    git.run(['ls-files', '-z', '--others', '--exclude-standard']),
    git.run(['ls-files', '-z', '--others', '--ignored', '--exclude-standard', '--directory']),
    git.text(['for-each-ref', '--format=%(refname) %(objectname)']),
    foldersOf(git),
  ]);

  let count = 0;
  for (const listed of listedIn([staged, others, ignored])) {
    count += 1;
    if (count % IN_A_ROW === 0) await breathe();
    const name = listed.endsWith('/') ? listed.slice(0, -1) : listed;
    if (isState(name) || state.startsWith(`${name}/`)) continue;
    const found = statOf(`${repository}/${name}`);
    note(name, found);
    // An ignored folder, a submodule, or somebody's repository inside of this one.
    if (found?.isDirectory()) noteFolder(name);
  }

  // What is staged, not the file: git refreshes that one at any time.
  entries.set(nameOf(repository, join(gitDir, 'index')), sha256(staged.toString('latin1')));
  noteRefs(entries, refs, nameOf(repository, commonDir));
  // By content: git writes these anew without changing anything.
  for (const path of [join(gitDir, 'HEAD'), ...SETTINGS.map((name) => join(commonDir, name))]) {
    const text = textOf(path);
    if (text !== null) entries.set(nameOf(repository, path), sha256(text));
  }
  noteFolder(nameOf(repository, join(commonDir, 'hooks')));

  noteFolder(nameOf(repository, base), (name) => !STATE_ENTRIES.has(name) && !TEMPORARY.test(name));
  noteFolder(nameOf(repository, dirname(options.worktree)), (name) => !OWN_WORKTREE.test(name));
  return { entries };
}

/** Added, changed or deleted in between; sorted. */
export function changedOutside(before: OutsideView, after: OutsideView): string[] {
  const changed: string[] = [];
  for (const [name, signature] of before.entries) if (after.entries.get(name) !== signature) changed.push(name);
  for (const name of after.entries.keys()) if (!before.entries.has(name)) changed.push(name);
  return changed.sort();
}

/** By value, not by file: git packs them when it likes. Those of our own items change all the time. */
function noteRefs(entries: Map<string, string>, listing: string, git: string): void {
  for (const line of listing.split('\n').filter(Boolean)) {
    const [ref = '', object = ''] = line.split(' ');
    if (!/^refs\/(?:heads\/)?agentos\//.test(ref)) entries.set(`${git}/${ref}`, object);
  }
}

/** Names; in front of what is staged there is its mode, its content and a tab. */
function* listedIn(listings: readonly Buffer[]): Generator<string> {
  for (const listing of listings) {
    for (const entry of listing.toString('utf8').split('\0')) {
      if (entry !== '') yield STAGED.test(entry) ? entry.slice(entry.indexOf('\t') + 1) : entry;
    }
  }
}

const STAGED = /^\d{6} [0-9a-f]{40,64} \d\t/;

/** They stay where they are, and are asked for at every look. */
const folders = new Map<string, Promise<[gitDir: string, commonDir: string]>>();

function foldersOf(git: Git): Promise<[gitDir: string, commonDir: string]> {
  const known =
    folders.get(git.directory) ??
    git.text(['rev-parse', '--path-format=absolute', '--git-dir', '--git-common-dir']).then((text) => {
      const [gitDir = '', commonDir = ''] = text.split('\n');
      return [gitDir, commonDir];
    });
  folders.set(git.directory, known);
  known.catch(() => folders.delete(git.directory));
  return known;
}

/** By their text, which is quick: there may be very many of them. */
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

function textOf(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}

/** The time of the last change of any kind can't be set back, as that of the content can. */
function signatureOf({ mode, size, mtimeMs, ctimeMs, ino }: Stats): string {
  return `${mode} ${size} ${mtimeMs} ${ctimeMs} ${ino}`;
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).slice(0, MOST_IN_FOLDER);
  } catch {
    return [];
  }
}

function nameOf(repository: string, path: string): string {
  const plain = path.endsWith(sep) ? path.slice(0, -1) : path;
  return plain.startsWith(repository + sep) ? plain.slice(repository.length + 1) : plain;
}
