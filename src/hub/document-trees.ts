import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Item } from '../core/item.ts';
import type { Git } from '../git/git.ts';

/*
 * Documents as git trees. Bytes are kept as they are, without filters or conversion of line endings. Paths are relative to the repository,
 * with slashes.
 */

const ISSUES = 'issues';
const BRIEFS = 'briefs';
const LLDS = 'docs/lld';
const LINEAGE = 'docs/lineage';
const PROMPTS = 'agentos/prompts';
export const REPORTS = 'docs/reports';
export const SETTINGS_FILE = 'agentos.yaml';

/** Folders that items write documents to. */
export const WRITTEN_FOLDERS = [ISSUES, LLDS, LINEAGE];

/** Folders that a submitter hands over, beside agentos.yaml. */
export const DOCUMENT_FOLDERS = [ISSUES, BRIEFS, LLDS, LINEAGE, PROMPTS];

/** Whether an item needs a document. A new issue is compared with all others, a design with all other designs. */
export function isNeededBy({ workflow, id }: Item, path: string): boolean {
  if (path.startsWith(`${LINEAGE}/`))
    return path.startsWith(`${LINEAGE}/${id}/`) || path.startsWith(`${LINEAGE}/${id}.brief/`);
  if (path.startsWith(`${ISSUES}/`)) return workflow === 'issue' || path === `${ISSUES}/${id}.md`;
  if (path.startsWith(`${BRIEFS}/`)) return path === `${BRIEFS}/${id}.md`;
  return true;
}

/** No other item needs it. */
export function isOfOneItem(path: string): boolean {
  return path.startsWith(`${LINEAGE}/`);
}

export function designPath(id: string): string {
  return `${LLDS}/LLD-${id}.md`;
}

export function idOfDesign(path: string): string | null {
  return /^docs\/lld\/LLD-([^/]+)\.md$/.exec(path)?.[1] ?? null;
}

/** Blob ids by path. */
export type TreeFiles = Map<string, string>;

export async function filesInTree(git: Git, tree: string): Promise<TreeFiles> {
  const listing = (await git.run(['ls-tree', '-r', '-z', '--full-tree', tree])).toString('utf8');
  const files: TreeFiles = new Map();
  for (const entry of listing.split('\0')) {
    const [, id = '', path = ''] = /^100\d+ blob ([0-9a-f]+)\t(.+)$/s.exec(entry) ?? [];
    if (path !== '') files.set(path, id);
  }
  return files;
}

/** All regular files below the folder. Names with a line break are left out: git's commands read one path per line. */
export async function filesBelow(root: string, folder: string): Promise<string[]> {
  const entries = await readdir(join(root, folder), { withFileTypes: true }).catch(() => []);
  const found: string[] = [];
  for (const entry of entries) {
    const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
    if (entry.isDirectory()) found.push(...(await filesBelow(root, path)));
    else if (entry.isFile() && !/[\n\r]/.test(path) && !entry.name.endsWith('.tmp')) found.push(path);
  }
  return found;
}

/** Stores files as blobs and returns the ids in the same order. */
export async function storeFiles(git: Git, files: readonly string[]): Promise<string[]> {
  if (files.length === 0) return [];
  const ids = await git.text(['hash-object', '-w', '--no-filters', '--stdin-paths'], {
    input: `${files.join('\n')}\n`,
  });
  return ids.split('\n');
}

/** Writes a tree of these files. `scratch` is an empty folder for git's index. */
export async function treeOf(git: Git, files: TreeFiles, scratch: string): Promise<string> {
  const env = { GIT_INDEX_FILE: join(scratch, 'index') };
  const lines = [...files].map(([path, id]) => `100644 ${id}\t${path}\0`).join('');
  await git.run(['update-index', '--add', '--replace', '-z', '--index-info'], { env, input: lines });
  return git.text(['write-tree'], { env });
}

const IDENTITY = {
  GIT_AUTHOR_NAME: 'agentos',
  GIT_AUTHOR_EMAIL: 'agentos@localhost',
  GIT_COMMITTER_NAME: 'agentos',
  GIT_COMMITTER_EMAIL: 'agentos@localhost',
};

export function commitOf(git: Git, tree: string, message: string): Promise<string> {
  return git.text(['-c', 'commit.gpgSign=false', 'commit-tree', tree, '-m', message], { env: IDENTITY });
}

/** The contents of blobs, by path. */
export async function readBlobs(git: Git, files: TreeFiles): Promise<Map<string, Buffer>> {
  const read = [...files].map(async ([path, id]): Promise<[string, Buffer]> => {
    const blob = await git.object(id);
    if (blob === null) throw new TypeError(`the object ${id} of ${path} is missing`);
    return [path, blob.content];
  });
  return new Map(await Promise.all(read));
}
