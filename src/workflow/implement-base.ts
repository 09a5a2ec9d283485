import type { TestSettings } from '../core/config.ts';
import { AgentosError, toErrorRecord } from '../core/errors.ts';
import type { DocumentFinding } from '../documents/finding.ts';
import { readHeader } from '../documents/header.ts';
import { checkLld } from '../documents/lld/checks.ts';
import { designFacts, readLld } from '../documents/lld/document.ts';
import type { LldFile } from '../documents/lld/files-table.ts';
import { isAncestor, stackedBase } from '../git/branches.ts';
import type { Git } from '../git/git.ts';
import { commitFiles, headCommit, openCommit } from '../git/repository.ts';
import { findTests, undetectedIn } from '../testing/detect.ts';
import type { ProjectFiles } from '../testing/project.ts';
import { runnerOfFiles } from '../testing/test-files.ts';
import type { ImplementParts } from './implement-item.ts';
import { foundationsOf, onSameFiles, openBranches } from './implementations.ts';
import type { ItemContext } from './item.ts';
import { forecastFor, otherDesigns } from './other-designs.ts';

export interface Begun {
  /** The hash of the LLD that it was for. */
  lld: string;
  base: string;
  /** Branches that are not merged and that it begins at; absent in older journals. */
  on?: string[];
  /** How many steps there were before it: two that begin at the same commit are still two. */
  number: number;
  /** What the reviewer is shown of other designs; absent in a checkpoint of an older version. */
  forecast?: string;
}

/** Steps that cost nothing: while there are no others, a newer commit of the user's is a better base. */
const FREE: ReadonlySet<string> = new Set(['begin', 'baseline', 'context']);

/**
 * The commit that the implementation begins at. It follows the user's HEAD until the first paid step is stored, so that a
 * set-up that failed can be fixed by a commit; from then on it stays, because all that was paid for was made for it.
 */
export async function beginImplementation(item: ItemContext, parts: ImplementParts): Promise<Begun> {
  const { id, hash: lld, journal, paths } = item;
  const { git, lldText } = parts;
  const store = async ({ lld, base, on, number }: Begun): Promise<Begun> => {
    const inputs = { lld, base, number, ...(on === undefined ? {} : { on }) };
    const { value } = await item.step<Begun>({ name: 'begin', inputs }, async () => {
      const commit = await openCommit(git, base);
      const others = await otherDesigns(paths, id, (file) => commit.kindOf(file) !== null);
      return { ...inputs, forecast: item.mask(forecastFor(id, lldText, others)) };
    });
    return value;
  };
  const last = journal.last('begin') as Begun | undefined;
  const steps = journal.steps();
  const isPaid = steps
    .slice(steps.findLastIndex(({ name }) => name === 'begin') + 1)
    .some(({ name }) => !FREE.has(name));
  if (last?.lld === lld && isPaid) return store(last);
  const { base, on } = await baseOf(item, parts);
  await testsFor(commitFiles(git, base), parts.config, designFacts(lldText).files, paths.repository);
  const errors = (await outdatedFindings(git, { id, lldText, base })).filter(({ severity }) => severity === 'error');
  if (errors.length > 0) {
    const findings = errors.map(({ rule, line, message }) => `${rule} (line ${line}): ${message}`);
    throw new AgentosError({ code: 'lld-outdated', id, findings });
  }
  return store(last?.lld === lld && last.base === base ? last : { lld, base, on, number: steps.length });
}

/** Today's HEAD, with the branches that it builds on and those that change the same files, unless they are merged. */
async function baseOf(
  { id, paths, emit }: ItemContext,
  { git, lldText }: ImplementParts,
): Promise<{ base: string; on: string[] }> {
  const { after, files } = designFacts(lldText);
  const head = await headCommit(git);
  const needed = await foundationsOf(git, paths, after);
  const on: string[] = [];
  let base = await stackedBase(git, head, needed);
  for (const { branch, commit } of needed) if (!(await isAncestor(git, commit, head))) on.push(branch);
  for (const foundation of onSameFiles(await openBranches(git, paths), { id, files })) {
    if (await isAncestor(git, foundation.commit, base)) continue;
    try {
      base = await stackedBase(git, base, [foundation]);
    } catch (error) {
      const { problem } = toErrorRecord(error);
      if (problem.code !== 'dependency-conflict') throw error;
      const text = `begins without ${foundation.branch}, which changes the same files: it conflicts in ${problem.files.join(', ')}`;
      emit({ type: 'notice', text });
      continue;
    }
    on.push(foundation.branch);
  }
  if (on.length > 0) emit({ type: 'notice', text: `begins at ${on.join(' and ')}, not merged yet` });
  return { base, on };
}

/**
 * How the tests of a project are run, by its files. In a repository without tests, the test files among `paths`, which are
 * to be written, tell. Null where it is unknown and the policy is `off`; rejects otherwise. `directory`: for messages.
 */
export async function testsFor(
  files: ProjectFiles,
  { tests, implement }: ImplementParts['config'],
  paths: readonly string[],
  directory: string,
): Promise<TestSettings | null> {
  try {
    await findTests(files, tests, directory, paths);
    return tests;
  } catch (error) {
    const problem = undetectedIn(error);
    const isBlank = problem.script === null && problem.runner === null && tests.command === null;
    const runner = isBlank ? runnerOfFiles(paths) : null;
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
