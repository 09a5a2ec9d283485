import { type ReviewRequest, reactBranch } from '../core/reaction.ts';
import { provenTests } from '../documents/implementation/proven-tests.ts';
import { designFacts, readLld } from '../documents/lld/document.ts';
import { namesFile } from '../documents/review/named-files.ts';
import { type Merge, mergeTrees } from '../git/merge.ts';
import { openCommit, readAt } from '../git/repository.ts';
import { folderFiles } from '../testing/project.ts';
import { testsFor } from './implement-base.ts';
import { createPortableText } from './implement-finish.ts';
import { prepareWorktree } from './implement-worktree.ts';
import type { ItemContext } from './item.ts';
import { isProtected } from './protected-paths.ts';
import type { ReactContext, ReactParts } from './react-item.ts';

/** The worktree at the base, and the pull request with the base merged into it where that has moved. */
export async function openReaction(item: ItemContext, parts: ReactParts): Promise<ReactContext> {
  const { git, reaction, config, lldText } = parts;
  const { head, isBaseMoved } = reaction;
  const base = isBaseMoved ? reaction.base.commit : await git.text(['merge-base', head, reaction.base.commit]);
  const { worktree, setUp, isNewWorktree } = await prepareWorktree(item, parts, {
    start: base,
    branch: reactBranch(item.id),
    isPersons: true,
  });
  const { directory } = worktree;
  const { files } = designFacts(lldText);
  const suite = await parts.openSuite(await testsFor(folderFiles(directory), config, files, directory));
  const [baseTree, headTree] = await Promise.all([worktree.treeOf(base), worktree.treeOf(head)]);
  const merge = isBaseMoved ? await mergeOf(item, parts) : null;
  const conflict = merge !== null && merge.conflicts.length > 0 ? merge : null;
  const parted = await git.text(['merge-base', head, base]);
  const listing = await git.text(['diff', '--name-only', '-z', parted, head]);
  const [report = null] = await readAt(git, [{ ref: head, path: item.paths.report(item.id) }]);
  const own = new Set(listing.split('\0').filter(Boolean));
  const testFiles = (await openCommit(git, head)).paths.filter((path) => suite.isTestFile(path));
  return {
    ...item,
    ...parts,
    lld: readLld(lldText),
    base,
    baseTree,
    headTree,
    startTree: merge?.tree ?? headTree,
    own,
    conflict,
    proven: provenTests(report ?? ''),
    testFiles,
    openTests: openTestsIn({ testFiles, conflict }, reaction.reviews),
    on: [],
    forecast: '',
    worktree,
    setUp,
    isNewWorktree,
    suite,
    portable: await createPortableText(item.paths.repository, directory),
    // A reaction is about what is there: the writer looks for itself.
    contextFor: async () => ({ text: '', tests: [] }),
  };
}

async function mergeOf(item: ItemContext, { git, reaction }: ReactParts): Promise<Merge> {
  const { head, base } = reaction;
  const inputs = { ours: head, theirs: base.commit };
  return (await item.step({ name: 'merge', inputs }, () => mergeTrees(git, head, base.commit))).value;
}

/** What runs elsewhere with more rights, and what is no text: no implementer settles these. */
export async function filesForPeople({ conflict, worktree }: ReactContext): Promise<string[]> {
  if (conflict === null) return [];
  const paths = conflict.conflicts.map(({ path }) => path);
  const texts = await Promise.all(paths.map((path) => worktree.read(conflict.tree, path)));
  return paths.filter((path, at) => isProtected(path) || (texts[at] ?? '').includes('\0'));
}

/** Tests are frozen, but for those in conflict and those that a remark is about: at a line of it, or in words that name it. */
export function openTestsIn(
  { testFiles, conflict }: Pick<ReactContext, 'testFiles' | 'conflict'>,
  reviews: readonly ReviewRequest[],
): string[] {
  const inConflict = new Set(conflict?.conflicts.map(({ path }) => path));
  return testFiles.filter(
    (file) => inConflict.has(file) || reviews.some(({ path, body }) => path === file || namesFile(body, file)),
  );
}
