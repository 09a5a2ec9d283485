import type { Git } from '../../git/git.ts';
import { factsOf } from './blob-facts.ts';
import { compose, type ShownFile, wantedPaths } from './compose.ts';
import { isChangelog, isOwnDocument, isTestPath } from './file-kind.ts';
import { readHistory } from './history.ts';
import type { Known } from './index-file.ts';
import { type ReadFile, readLines } from './lines.ts';
import { listBlobs, readBlobs, type TreeBlob } from './objects.ts';
import { namedPaths, queryOf } from './query.ts';
import { rankFiles, termValues } from './rank.ts';
import { isSecret } from './secrets.ts';
import { testsOf } from './tests-of.ts';

export interface ContextOptions {
  maxTokens: number;
  exclude: readonly string[];
}

/** What is to be done: an issue, a brief, a design. */
export interface AskedContext {
  title: string;
  body: string;
  /** Files that a design changes: they come first, and their tests are named. */
  files?: readonly string[];
}

/** What models are shown of a repository at one commit for one text, and what is left out and why. */
export interface RepositoryContext {
  base: string;
  budgetTokens: number;
  tokens: number;
  text: string;
  files: ShownFile[];
  leftOut: { path: string; why: string }[];
  /** Existing tests that touch the files of the design. */
  tests: string[];
}

const LARGEST_BYTES = 1_000_000;
const MOST_LEFT_OUT = 200;

/** The same commit and text make the same context, whatever is `known`; what is found out is added to that. */
export async function repositoryContext(
  git: Git,
  base: string,
  { title, body, files }: AskedContext,
  { maxTokens, exclude }: ContextOptions,
  known: Known = { blobs: new Map(), commits: new Map() },
): Promise<RepositoryContext> {
  const [tree, history] = await Promise.all([listBlobs(git, base), readHistory(git, base, known.commits)]);
  known.commits.clear();
  for (const commit of history) known.commits.set(commit.hash, commit);
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
  const ranked = rankFiles(code, { query, named, history });
  const wanted = new Set(wantedPaths(paths, ranked));
  const read = await readFiles(
    git,
    visible.filter(({ path }) => wanted.has(path)),
    termValues(code, query),
  );
  // First those that the text names: whoever wrote it expects them to be seen.
  const rest = hidden.toSorted((a, b) => Number(mentions.includes(b.path)) - Number(mentions.includes(a.path)));
  const composed = compose({ base, paths, ranked, read, leftOut: rest.slice(0, MOST_LEFT_OUT), budget: maxTokens * 4 });
  const tests = files === undefined ? [] : testsOf(texts, files, history);
  return { base, budgetTokens: maxTokens, ...composed, tests };
}

const SECRET = 'may hold secrets';

/** What may be looked at, and what not. */
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
