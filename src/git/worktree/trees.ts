import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { refsBelow, removeRefsBelow } from '../branches.ts';
import type { Git } from '../git.ts';
import { LONG_MS } from './place.ts';
import { asBytes, namesAsInput, readable, splitNames } from './private-index.ts';

export interface TreeChange {
  path: string;
  kind: 'added' | 'modified' | 'deleted';
  /** It is a symbolic link now. */
  isLink?: true;
}

const KINDS: Record<string, TreeChange['kind']> = { A: 'added', D: 'deleted' };
const LARGEST_DIFF_BYTES = 512 * 1024;

/** The mode of a symbolic link in a tree. */
const LINK = '120000';

export async function changesBetween(git: Git, from: string, to: string): Promise<TreeChange[]> {
  const names = splitNames(await git.run(['diff-tree', '-r', '-z', '--no-renames', '--raw', from, to]));
  const changes: TreeChange[] = [];
  for (let at = 0; at + 1 < names.length; at += 2) {
    const [, mode = '', , , status = ''] = (names[at] ?? '').split(' ');
    changes.push({
      path: readable(names[at + 1] ?? ''),
      kind: KINDS[status] ?? 'modified',
      ...(mode === LINK ? { isLink: true } : {}),
    });
  }
  return changes;
}

/** For people and models: binary and very large files are only named. */
export async function diffBetween(git: Git, from: string, to: string): Promise<string> {
  const args = ['-p', '-r', '--no-color', '--no-ext-diff', '--no-textconv', '--no-renames', '--submodule=short'];
  const atMostBytes = LARGEST_DIFF_BYTES + 1;
  const out = await git.run(['-c', 'core.bigFileThreshold=1m', 'diff-tree', ...args, from, to], { atMostBytes });
  if (out.length <= LARGEST_DIFF_BYTES) return out.toString('utf8');
  const whole = out.subarray(0, out.lastIndexOf(0x0a, LARGEST_DIFF_BYTES) + 1).toString('utf8');
  return `${whole}[The diff is cut here: it is longer than ${LARGEST_DIFF_BYTES / 1024} KB.]\n`;
}

/** Plain, without programs that the repository names, and with renames. */
const SHOWN = ['diff', '--no-color', '--no-ext-diff', '--no-textconv', '--find-renames', '--unified=3'];
const LARGEST_SHOWN_BYTES = 2 << 20;

/** For the dashboard; empty if one of the two commits or trees is missing. */
export async function shownPatch(git: Git, from: string, to: string): Promise<string> {
  const patch = await git.run([...SHOWN, from, to, '--'], { atMostBytes: LARGEST_SHOWN_BYTES }).catch(() => null);
  return patch?.toString('utf8') ?? '';
}

/** Whole, with binary files, for `git apply`. */
export function patchBetween(git: Git, from: string, to: string): Promise<Buffer> {
  const args = ['-p', '-r', '--binary', '--no-color', '--no-ext-diff', '--no-textconv', '--no-renames'];
  return git.run(['diff-tree', ...args, from, to], { timeoutMs: LONG_MS });
}

/** Lines added and removed, by path; null for a binary file. */
export type LineCounts = ReadonlyMap<string, { added: number; removed: number } | null>;

export async function linesBetween(git: Git, from: string, to: string): Promise<LineCounts> {
  const records = splitNames(await git.run(['diff-tree', '-r', '-z', '--no-renames', '--numstat', from, to]));
  return new Map(
    records.map((record) => {
      const [added = '-', removed = '-', ...path] = record.split('\t');
      const counts = added === '-' ? null : { added: Number(added), removed: Number(removed) };
      return [readable(path.join('\t')), counts];
    }),
  );
}

/** A tree with some of its paths as they are in another; a path may be a folder. */
export async function treeWithPathsFrom(
  git: Git,
  stateFolder: string,
  tree: string,
  source: string,
  paths: readonly string[],
): Promise<string> {
  if (paths.length === 0) return tree;
  const args = ['reset', '--quiet', '--no-refresh', '--pathspec-from-file=-', '--pathspec-file-nul', source];
  const input = namesAsInput(paths.map((path) => asBytes(path)));
  return editTree(git, stateFolder, tree, (env) =>
    git.run(args, { env: { ...env, GIT_LITERAL_PATHSPECS: '1' }, input, timeoutMs: LONG_MS }),
  );
}

/** A tree with files of these contents; null: without the file. */
export async function treeWithFiles(
  git: Git,
  stateFolder: string,
  tree: string,
  files: Readonly<Record<string, string | null>>,
): Promise<string> {
  const entries = Object.entries(files).map(async ([path, content]) => {
    if (content === null) return `0 ${'0'.repeat(tree.length)}\t${asBytes(path)}`;
    const id = await git.text(['hash-object', '-w', '--no-filters', '--stdin'], { input: content });
    return `100644 ${id}\t${asBytes(path)}`;
  });
  const input = namesAsInput(await Promise.all(entries));
  return editTree(git, stateFolder, tree, (env) =>
    git.run(['update-index', '--replace', '-z', '--index-info'], { env, input }),
  );
}

let edits = 0;

/** Changes a tree in a temporary index. */
async function editTree(
  git: Git,
  stateFolder: string,
  tree: string,
  edit: (env: Record<string, string>) => Promise<unknown>,
): Promise<string> {
  edits += 1;
  const index = join(stateFolder, `edit-${process.pid}-${edits}`);
  const env = { GIT_INDEX_FILE: index };
  try {
    await git.run(['read-tree', tree], { env });
    await edit(env);
    return await git.text(['write-tree'], { env });
  } finally {
    await rm(index, { force: true });
  }
}

/** Protects the trees and commits that a journal refers to from git's garbage collection. */
export type Pin = (git: Git, object: string) => Promise<void>;

export async function openPins(repository: Git, name: string): Promise<Pin> {
  const refs = await refsBelow(repository, pinsOf(name));
  const known = new Set(refs.values());
  let last = Math.max(0, ...[...refs.keys()].map((ref) => Number(ref.slice(ref.lastIndexOf('/') + 1)) || 0));
  return async (git, object) => {
    if (known.has(object)) return;
    last += 1;
    await git.run(['update-ref', `${pinsOf(name)}${last}`, object]);
    known.add(object);
  };
}

/** The last pinned tree of an item; null: none. */
export async function lastTree(git: Git, name: string): Promise<string | null> {
  const format = '--format=%(objecttype) %(objectname)';
  const listed = await git.text(['for-each-ref', '--sort=version:refname', format, pinsOf(name)]).catch(() => '');
  const trees = listed.split('\n').filter((line) => line.startsWith('tree '));
  return trees.at(-1)?.slice('tree '.length) ?? null;
}

/** For a worktree that was removed. */
export async function removePins(repository: Git, name: string): Promise<void> {
  await removeRefsBelow(repository, pinsOf(name));
}

export function pinsOf(name: string): string {
  return `refs/agentos/${name.replace(/[^a-zA-Z0-9_-]/g, '_')}/`;
}
