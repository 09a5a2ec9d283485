import type { Config, TestSettings } from '../core/config.ts';
import { toErrorRecord } from '../core/errors.ts';
import { isItemId } from '../core/ids.ts';
import type { Paths } from '../core/paths.ts';
import { checkLld, type LldFinding } from '../documents/lld/checks.ts';
import { readLld } from '../documents/lld/document.ts';
import type { LldFile } from '../documents/lld/files-table.ts';
import { readFrontMatter } from '../documents/lld/front-matter.ts';
import type { Git } from '../git/git.ts';
import { openCommit } from '../git/repository.ts';
import type { Foundation } from '../git/stacked-base.ts';
import { findTests } from '../testing/detect.ts';
import type { ProjectFiles } from '../testing/project-files.ts';
import { runnerOfFiles } from '../testing/runner-of-files.ts';
import { implementationsOf } from '../workflow/implementations.ts';

/** The local branches of the items that this one builds on; one that is merged and deleted is in the base already. */
export async function foundationsOf(git: Git, paths: Paths, ids: readonly string[]): Promise<Foundation[]> {
  if (ids.length === 0) return [];
  const implementations = await implementationsOf(git, paths, ids.filter(isItemId));
  const found: Foundation[] = [];
  for (const id of ids) {
    // A branch that began after the item was merged has its report too; the report names the branch that it is from.
    const all = implementations.get(id) ?? [];
    const own = all.findLast(({ ref, branch }) => ref === `refs/heads/${branch}`);
    const isMerged = all.some(({ ref }) => ref === 'HEAD');
    const branch = own ?? (isMerged ? undefined : all.findLast(({ ref }) => ref.startsWith('refs/heads/')));
    if (branch !== undefined) found.push({ id, commit: await git.text(['rev-parse', branch.ref]) });
  }
  return found;
}

/**
 * How the tests of a project are run, by its files. A repository without any test yet: the design names the first. Null
 * where it is not known and the policy asks for none.
 */
export async function testsFor(
  files: ProjectFiles,
  { tests, implement }: Pick<Config, 'tests' | 'implement'>,
  { directory, designed }: { directory: string; designed: readonly string[] },
): Promise<TestSettings | null> {
  try {
    await findTests(files, tests, directory);
    return tests;
  } catch (error) {
    const { problem } = toErrorRecord(error);
    if (problem.code !== 'tests-undetected') throw error;
    const isBlank = problem.script === null && problem.runner === null && tests.command === null;
    const runner = isBlank ? runnerOfFiles(designed) : null;
    if (runner !== null) return { ...tests, runner };
    if (implement.policy === 'off') return null;
    throw error;
  }
}

export interface OutdatedOptions {
  git: Git;
  id: string;
  lldText: string;
  base: string;
  /** Those that the LLD names. */
  files: readonly string[];
}

/** Nothing while the files that the LLD names are as they were when it was approved; else what the checks say of it now. */
export async function outdatedFindings({ git, id, lldText, base, files }: OutdatedOptions): Promise<LldFinding[]> {
  const { fields, body } = readFrontMatter(lldText);
  const ignored = await ignoredAmong(git, readLld(body).files);
  if (ignored.length > 0) return ignored;
  const approvedAt = typeof fields['baseCommit'] === 'string' ? fields['baseCommit'] : null;
  if (approvedAt === base) return [];
  const moved = approvedAt === null || (await changedSince(git, approvedAt, base, files));
  return moved ? checkLld(body, { issueId: id, tree: await openCommit(git, base) }).findings : [];
}

async function changedSince(git: Git, from: string, to: string, files: readonly string[]): Promise<boolean> {
  if (files.length === 0) return false;
  const command = ['diff', '--name-only', '-z', from, to, '--', ...files.map((file) => `:(literal,top)${file}`)];
  // A commit that is gone, after a rebase and a clean-up, tells nothing: then it is checked.
  return git.text(command).then(
    (listing) => listing !== '',
    () => true,
  );
}

/** A file that git ignores would never be on the branch, however often it is written. */
async function ignoredAmong(git: Git, files: readonly LldFile[]): Promise<LldFinding[]> {
  const added = files.filter(({ change }) => change === 'Add');
  if (added.length === 0) return [];
  const input = added.map(({ path }) => `${path}\0`).join('');
  // It ends with 1 when none of them is ignored.
  const listing = await git
    .run(['check-ignore', '--no-index', '-z', '--stdin'], { input })
    .catch(() => Buffer.alloc(0));
  const names = new Set(listing.toString('utf8').split('\0'));
  return added
    .filter(({ path }) => names.has(path))
    .map(({ path, line }) => ({
      rule: 'files/ignored',
      severity: 'error',
      line,
      message: `${path} is ignored by git, so that it would not be on the branch: change .gitignore or the path`,
    }));
}
