import type { TestSettings } from '../core/config.ts';
import { AgentosError, toErrorRecord } from '../core/errors.ts';
import { isItemId } from '../core/ids.ts';
import type { Paths } from '../core/paths.ts';
import type { DocumentFinding } from '../documents/finding.ts';
import { readHeader } from '../documents/header.ts';
import { checkLld } from '../documents/lld/checks.ts';
import { designFacts, readLld } from '../documents/lld/document.ts';
import type { LldFile } from '../documents/lld/files-table.ts';
import { type Foundation, stackedBase } from '../git/branches.ts';
import type { Git } from '../git/git.ts';
import { commitFiles, headCommit, openCommit } from '../git/repository.ts';
import { findTests } from '../testing/detect.ts';
import type { ProjectFiles } from '../testing/project.ts';
import { runnerOfFiles } from '../testing/test-files.ts';
import type { ImplementContext, ImplementParts } from './implement-item.ts';
import { implementationsOf } from './implementations.ts';
import type { ItemContext } from './item.ts';
import { forecastFor, otherDesigns } from './other-designs.ts';

interface Begun {
  /** The hash of the LLD that it was for. */
  lld: string;
  base: string;
  /** How many steps there were before it: two that begin at the same commit are still two. */
  number: number;
  /** What the reviewer is shown of other designs; absent in a checkpoint of an older version. */
  forecast?: string;
}

/** Steps that cost nothing: while there are no others, a newer commit of the user's is a better base. */
const FREE: ReadonlySet<string> = new Set(['begin', 'baseline']);

/**
 * The commit that the implementation begins at. It follows the user's HEAD until the first paid step is stored, so that a
 * set-up that failed can be fixed by a commit; from then on it stays, because all that was paid for was made for it.
 */
export async function beginImplementation(
  item: ItemContext,
  parts: ImplementParts,
): Promise<Pick<ImplementContext, 'base' | 'forecast'>> {
  const { id, hash: lld, journal, paths } = item;
  const { git, lldText } = parts;
  const store = async ({ base, number }: Begun): Promise<Pick<ImplementContext, 'base' | 'forecast'>> => {
    const inputs = { lld, base, number };
    const { value } = await item.step<Begun>({ name: 'begin', inputs }, async () => {
      const commit = await openCommit(git, base);
      const others = await otherDesigns(paths, id, (file) => commit.kindOf(file) !== null);
      return { ...inputs, forecast: item.mask(forecastFor(id, lldText, others)) };
    });
    return { base, forecast: value.forecast ?? '' };
  };
  const last = journal.last('begin') as Begun | undefined;
  const steps = journal.steps();
  const isPaid = steps
    .slice(steps.findLastIndex(({ name }) => name === 'begin') + 1)
    .some(({ name }) => !FREE.has(name));
  if (last?.lld === lld && isPaid) return store(last);
  const { after } = designFacts(lldText);
  const base = await stackedBase(git, await headCommit(git), await foundationsOf(git, paths, after));
  await testsFor(commitFiles(git, base), parts, paths.repository);
  const errors = (await outdatedFindings(git, { id, lldText, base })).filter(({ severity }) => severity === 'error');
  if (errors.length > 0) {
    const findings = errors.map(({ rule, line, message }) => `${rule} (line ${line}): ${message}`);
    throw new AgentosError({ code: 'lld-outdated', id, findings });
  }
  return store(last?.lld === lld && last.base === base ? last : { lld, base, number: steps.length });
}

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
 * How the tests of a project are run, by its files. In a repository without tests, the design's own test files tell. Null
 * where it is unknown and the policy is `off`; rejects otherwise. `directory`: for messages.
 */
export async function testsFor(
  files: ProjectFiles,
  { config: { tests, implement }, lldText }: Pick<ImplementParts, 'config' | 'lldText'>,
  directory: string,
): Promise<TestSettings | null> {
  try {
    await findTests(files, tests, directory);
    return tests;
  } catch (error) {
    const { problem } = toErrorRecord(error);
    if (problem.code !== 'tests-undetected') throw error;
    const isBlank = problem.script === null && problem.runner === null && tests.command === null;
    const runner = isBlank ? runnerOfFiles(designFacts(lldText).files) : null;
    if (runner !== null) return { ...tests, runner };
    if (implement.policy === 'off') return null;
    throw error;
  }
}

/** Nothing while the files that the LLD names are as they were when it was approved; else what the checks say of it now. */
async function outdatedFindings(
  git: Git,
  { id, lldText, base }: { id: string; lldText: string; base: string },
): Promise<DocumentFinding[]> {
  const { header, body } = readHeader(lldText);
  const ignored = await ignoredAmong(git, readLld(body).files);
  if (ignored.length > 0) return ignored;
  const approvedAt = header.baseCommit;
  if (approvedAt === base) return [];
  const { files } = designFacts(lldText);
  const isMoved = approvedAt === null || (await changedSince(git, approvedAt, base, files));
  return isMoved ? checkLld(body, { issueId: id, tree: await openCommit(git, base) }).findings : [];
}

async function changedSince(git: Git, from: string, to: string, files: readonly string[]): Promise<boolean> {
  if (files.length === 0) return false;
  const command = ['diff', '--name-only', '-z', from, to, '--', ...files.map((file) => `:(literal,top)${file}`)];
  // The commit may be gone after a rebase and a clean-up: then the LLD is checked.
  return git.text(command).then(
    (listing) => listing !== '',
    () => true,
  );
}

/** A file that git ignores would never be on the branch, however often it is written. */
async function ignoredAmong(git: Git, files: readonly LldFile[]): Promise<DocumentFinding[]> {
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
