import type { Git } from '../git/git.ts';
import { commitOf, filesInTree, type TreeFiles, treeWith } from './document-trees.ts';

/** What an item left, by where it goes: the repository, or the submitter's state folder. */
export const RESULT_PARTS = ['repository', 'transcripts', 'reviews', 'undone'] as const;
export type ResultPart = (typeof RESULT_PARTS)[number];

export type ResultFiles = Record<ResultPart, TreeFiles>;

export function commitResult(git: Git, files: ResultFiles, key: string): Promise<string> {
  const all: TreeFiles = new Map();
  for (const part of RESULT_PARTS) for (const [path, id] of files[part]) all.set(`${part}/${path}`, id);
  return treeWith(git, all).then((tree) => commitOf(git, tree, null, `What ${key} wrote`));
}

export async function readResult(git: Git, commit: string): Promise<ResultFiles> {
  const files: ResultFiles = { repository: new Map(), transcripts: new Map(), reviews: new Map(), undone: new Map() };
  for (const [path, id] of await filesInTree(git, commit)) {
    const slash = path.indexOf('/');
    const part = RESULT_PARTS.find((name) => name === path.slice(0, slash));
    if (part !== undefined) files[part].set(path.slice(slash + 1), id);
  }
  return files;
}

/**
 * The documents with what items wrote on top, as a commit. Of two new issues that got the same number, because they were written at the same
 * time, one stays: they are here to be compared with, and get their numbers where they are submitted from.
 */
export async function mergeResults(git: Git, documents: string, results: readonly TreeFiles[]): Promise<string> {
  const added: TreeFiles = new Map(results.flatMap((files) => [...files]));
  if (added.size === 0) return documents;
  return commitOf(git, await treeWith(git, added, documents), documents, `${results.length} item(s) ended`);
}
