import type { Git } from '../../git/git.ts';
import { openCommit } from '../../git/repository.ts';
import { compose, type ShownFile, wantedPaths } from './compose.ts';
import { factsOf, isChangelog, isOwnDocument, isTestPath } from './file-facts.ts';
import { readBlobs, readHistory, type TreeBlob } from './git-objects.ts';
import type { Known } from './index-file.ts';
import { type ReadFile, readLines } from './lines.ts';
import { namedPaths, queryOf } from './query.ts';
import { rankFiles, termValues, testsOf } from './rank.ts';
import { isSecret } from './secrets.ts';

export interface ContextOptions {
  maxTokens: number;
  exclude: readonly string[];
}

/** An issue, a brief or a design. */
export interface AskedContext {
  title: string;
  body: string;
  /** Files that a design changes: they are shown first, and their tests are named. */
  files?: readonly string[];
}

/** What models are shown of a repository at a commit for a text, and what is left out and why. */
export interface RepositoryContext {
  base: string;
  budgetTokens: number;
  tokens: number;
  text: string;
  files: ShownFile[];
  leftOut: { path: string; why: string }[];
  /** Existing tests of the files of a design. */
  tests: string[];
}

const LARGEST_BYTES = 1_000_000;
const MOST_LEFT_OUT = 200;

/** The result depends on commit and text alone, not on `known`, which is updated. */
export async function repositoryContext(
  git: Git,
  base: string,
  { title, body, files }: AskedContext,
  { maxTokens, exclude }: ContextOptions,
  known: Known = { blobs: new Map(), commits: new Map() },
): Promise<RepositoryContext> {
  const [commit, history] = await Promise.all([openCommit(git, base), readHistory(git, base, known.commits)]);
  const tree = commit.paths.map((path) => ({ path, oid: commit.idOf(path) ?? '', size: commit.sizeOf(path) }));
  known.commits.clear();
  for (const past of history) known.commits.set(past.hash, past);
  const { visible, hidden } = sorted(tree, exclude);
  const used = new Set(visible.map(({ oid }) => oid));
  for (const oid of known.blobs.keys()) if (!used.has(oid)) known.blobs.delete(oid);
  const unknown = visible.filter(({ oid }) => !known.blobs.has(oid));
  await readBlobs(git, unknown, (oid, bytes) => known.blobs.set(oid, factsOf(bytes)));
  const texts = visible.flatMap(({ path, oid }) => {
    const facts = known.blobs.get(oid);
    if (facts?.kind === 'text') return [{ path, facts }];
    hidden.push({ path, why: facts?.kind === 'secret' ? SECRET : 'is not text' });
    return [];
  });

  const query = queryOf(title, body);
  const paths = texts.map(({ path }) => path);
  const mentions = namedPaths(
    `${title}\n${body}`,
    tree.map(({ path }) => path),
  );
  const named = [...mentions, ...(files ?? [])];
  const code = texts.filter(({ path }) => !isOwnDocument(path) || named.includes(path));
  const values = termValues(code, query);
  const ranked = rankFiles(code, { query, values, named, history });
  const wanted = new Set(wantedPaths(paths, ranked));
  const read = await readFiles(
    git,
    visible.filter(({ path }) => wanted.has(path)),
    values,
  );
  // Files that the text names come first: its author expects them to be shown.
  const rest = hidden.toSorted((a, b) => Number(mentions.includes(b.path)) - Number(mentions.includes(a.path)));
  const composed = compose({ base, paths, ranked, read, leftOut: rest.slice(0, MOST_LEFT_OUT), budget: maxTokens * 4 });
  const tests = files === undefined ? [] : testsOf(texts, files, history);
  return { base, budgetTokens: maxTokens, ...composed, tests };
}

const SECRET = 'may hold secrets';

function sorted(
  tree: readonly TreeBlob[],
  exclude: readonly string[],
): { visible: TreeBlob[]; hidden: { path: string; why: string }[] } {
  const folders = exclude.map((entry) => entry.replace(/\/+$/, ''));
  const visible: TreeBlob[] = [];
  const hidden: { path: string; why: string }[] = [];
  for (const blob of tree) {
    const { path, size } = blob;
    if (isSecret(path)) hidden.push({ path, why: SECRET });
    else if (folders.some((folder) => path === folder || path.startsWith(`${folder}/`))) {
      hidden.push({ path, why: 'is excluded by the configuration' });
    } else if (size === null) hidden.push({ path, why: 'is not a plain file' });
    else if (size > LARGEST_BYTES) hidden.push({ path, why: 'is too large' });
    else visible.push(blob);
  }
  return { visible, hidden };
}

async function readFiles(
  git: Git,
  blobs: readonly TreeBlob[],
  values: ReadonlyMap<number, number>,
): Promise<Map<string, ReadFile>> {
  const contents = new Map<string, Buffer>();
  await readBlobs(git, blobs, (oid, bytes) => contents.set(oid, bytes));
  return new Map(
    blobs.flatMap(({ path, oid }) => {
      const bytes = contents.get(oid);
      if (bytes === undefined) return [];
      const kind = { isTest: isTestPath(path), isChangelog: isChangelog(path) };
      return [[path, readLines(path, bytes, values, kind)] as const];
    }),
  );
}
