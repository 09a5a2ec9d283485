import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseItemId } from '../core/ids.ts';
import { type Item, keyOf } from '../core/item.ts';
import type { Paths } from '../core/paths.ts';
import { readHeader } from '../documents/header.ts';
import { BRANCH_PREFIX, isAncestor, refsBelow, removeRefsBelow } from '../git/branches.ts';
import type { Git } from '../git/git.ts';
import { pinsOf } from '../git/worktree/trees.ts';
import { writeFileAtomic } from '../process/files.ts';
import { readKnownIssues } from '../source/directory.ts';
import { issuesOf, writeNumberedIssue } from '../workflow/approved-documents.ts';
import { storeFiles, type TreeFiles, WRITTEN_FOLDERS } from './document-trees.ts';
import { remoteHeads, remotePins } from './place.ts';
import { gitWithHub, type Remote } from './repository-cache.ts';
import { bytesOf, type ItemResult, type StoredFile } from './results.ts';

export interface EndedAtHub {
  item: Item;
  itemId: number;
  /** The files that the item left, or null. */
  result: ItemResult | null;
}

export interface Delivered {
  /** Files and branches that got another name, because the original was changed here. */
  moved: Map<string, string>;
  warnings: string[];
}

interface DeliveryOptions {
  git: Git;
  paths: Paths;
  runId: string;
  remote: Remote;
  repository: string;
  /** The documents as they were submitted, by path. */
  submitted: TreeFiles;
}

const FETCHED = 'refs/agentos-hub/fetched/';

/** Writes the files and branches of ended items into the checkout, in the order given, as a local run would have. */
export async function deliver(options: DeliveryOptions, ended: readonly EndedAtHub[]): Promise<Map<number, Delivered>> {
  const { git, remote, repository } = options;
  const built = ended.filter(({ item, result }) => item.workflow === 'implement' && result !== null);
  const refs = built.flatMap(({ itemId, item }) => [
    `+${remoteHeads(item)}*:${FETCHED}${itemId}/heads/*`,
    `+${remotePins(item)}*:${FETCHED}${itemId}/pins/*`,
  ]);
  const fetch = ['fetch', '--quiet', '--no-tags', '--no-write-fetch-head', '--no-recurse-submodules', '--no-auto-gc'];
  if (refs.length > 0) await gitWithHub(git, remote, [...fetch, `${remote.relay.url}/git/${repository}`, ...refs]);
  const delivered = new Map<number, Delivered>();
  for (const { item, itemId, result } of ended) {
    const one: Delivered = { moved: new Map(), warnings: [] };
    if (result !== null) await deliverFiles(options, item, result, one);
    if (refs.length > 0 && item.workflow === 'implement') await takeRefs(git, item, `${FETCHED}${itemId}/`, one);
    delivered.set(itemId, one);
  }
  await removeRefsBelow(git, ...built.map(({ itemId }) => `${FETCHED}${itemId}/`));
  return delivered;
}

async function deliverFiles(
  options: DeliveryOptions,
  item: Item,
  result: ItemResult,
  delivered: Delivered,
): Promise<void> {
  const { paths, runId } = options;
  for (const [path, file] of Object.entries(result.repository).filter(([path]) => isDocument(path)))
    await deliverFile(options, { item, path, file }, delivered);
  const places = {
    transcripts: paths.run(runId).transcripts(item.workflow, item.id),
    undone: paths.undone(item.workflow, item.id),
    reviews: join(paths.home(item.workflow, item.id), 'reviews'),
  };
  for (const part of ['transcripts', 'undone', 'reviews'] as const)
    for (const [path, file] of Object.entries(result[part]))
      if (isPlain(path)) await writeFileAtomic(join(places[part], path), bytesOf(file));
}

/** A machine's files are written only to the folders that items write to. */
const isPlain = (path: string): boolean => !path.split('/').some((part) => part === '..' || part === '');
const isDocument = (path: string): boolean =>
  isPlain(path) && WRITTEN_FOLDERS.some((folder) => path.startsWith(`${folder}/`));

const NUMBERED_ISSUE = /^issues\/\d{1,15}\.md$/;

async function deliverFile(
  { git, paths, submitted }: DeliveryOptions,
  { item, path, file }: { item: Item; path: string; file: StoredFile },
  { moved, warnings }: Delivered,
): Promise<void> {
  const content = bytesOf(file);
  const isNewIssue = item.workflow === 'issue' && NUMBERED_ISSUE.test(path) && !submitted.has(path);
  if (isNewIssue) {
    moved.set(path, await numberedIssue(paths, content.toString('utf8')));
    return;
  }
  const here = await readFile(join(paths.repository, path)).catch(() => null);
  if (here?.equals(content)) return;
  const known = submitted.get(path);
  const isEdited =
    here !== null && (known === undefined || (await storeFiles(git, [join(paths.repository, path)]))[0] !== known);
  const target = isEdited ? `${path}.from-hub` : path;
  if (isEdited) {
    moved.set(path, target);
    warnings.push(`${path} was changed here since it was submitted and stays; what ${keyOf(item)} wrote is ${target}.`);
  }
  await writeFileAtomic(join(paths.repository, target), content);
}

/** Returns the existing issue if it has this text and brief; otherwise writes the text under the next free number. */
async function numberedIssue(paths: Paths, text: string): Promise<string> {
  const { brief, briefHash } = readHeader(text).header;
  const known = brief === null ? [] : issuesOf(parseItemId(brief), await readKnownIssues(paths.issues));
  const there = known.find(({ header }) => header.briefHash === briefHash && briefHash !== null);
  const isSame = there !== undefined && (await readFile(paths.issue(there.id), 'utf8').catch(() => '')) === text;
  const id = isSame && there !== undefined ? there.id : await writeNumberedIssue(paths, text);
  return `issues/${id}.md`;
}

/** Takes over the item's branch and the states of its worktree, so that a later run can resume here too. */
async function takeRefs(git: Git, item: Item, from: string, { moved, warnings }: Delivered): Promise<void> {
  for (const [ref, id] of await refsBelow(git, from)) {
    const [, kind, name = ''] = /^([^/]+)\/(.+)$/.exec(ref.slice(from.length)) ?? [];
    if (kind === 'pins') await git.run(['update-ref', `${pinsOf(keyOf(item))}${name}`, id]);
    // Only branches with our prefix are taken into the checkout.
    if (kind !== 'heads' || !name.startsWith(BRANCH_PREFIX)) continue;
    const here = await git.text(['rev-parse', '--verify', '--quiet', `refs/heads/${name}`]).catch(() => null);
    const isFree = here === null || here === id || (await isAncestor(git, here, id));
    const target = isFree ? name : `${name}-from-hub`;
    if (!isFree) {
      moved.set(name, target);
      warnings.push(`the branch ${name} has other commits here and stays; the one of ${keyOf(item)} is ${target}.`);
    }
    await git.run(['update-ref', '-m', 'agentos', `refs/heads/${target}`, id]);
  }
}
