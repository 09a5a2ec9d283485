import { AgentosError, toErrorRecord } from '../core/errors.ts';
import type { DocumentFinding } from '../documents/finding.ts';
import { readHeader } from '../documents/header.ts';
import { checkLld } from '../documents/lld/checks.ts';
import { designFacts, readLld } from '../documents/lld/document.ts';
import type { LldFile } from '../documents/lld/files.ts';
import { isAncestor } from '../git/branches.ts';
import type { Git } from '../git/git.ts';
import { stackedBase } from '../git/merge.ts';
import { commitFiles, headCommit, openCommit } from '../git/repository.ts';
import { forecastFor, otherDesigns } from './designs.ts';
import { describeFinding } from './document-review.ts';
import { foundationsOf, onSameFiles, openBranches } from './implementations.ts';
import type { ItemContext } from './item.ts';
import { testsFor, type WorktreeParts } from './worktree-item.ts';

interface Begun {
  /** The hash of the LLD. */
  lld: string;
  base: string;
  /** Branches in the base that are not merged. */
  on: string[];
  /** How many steps were stored before it: two starts at the same commit are two steps. */
  number: number;
  /** Other designs that touch this one, for the reviewer; may be empty. */
  forecast: string;
}

/** Steps that cost nothing: while there are no others, a newer commit of the user is a better base. */
const FREE: ReadonlySet<string> = new Set(['begin', 'baseline', 'context']);

type Designed = Pick<WorktreeParts, 'config' | 'git'> & { lldText: string };

/**
 * Chooses the base commit. It follows the user's HEAD until the first paid step is stored, so that a commit can fix a set-up
 * that failed; from then on it stays, because paid answers were made for it.
 */
export async function beginImplementation(item: ItemContext, parts: Designed): Promise<Begun> {
  const { id, hash: lld, journal, paths } = item;
  const { git, lldText } = parts;
  const store = async ({ lld, base, on, number }: Omit<Begun, 'forecast'>): Promise<Begun> => {
    const inputs = { lld, base, number, on };
    const { value } = await item.step<Begun>({ name: 'begin', inputs }, async () => {
      const others = await otherDesigns(paths, id, () => openCommit(git, base));
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
    throw new AgentosError({ code: 'lld-outdated', id, findings: errors.map(describeFinding) });
  }
  return store(last?.lld === lld && last.base === base ? last : { lld, base, on, number: steps.length });
}

/** HEAD, with unmerged branches that the design builds on or that change the same files. */
async function baseOf(
  { id, paths, emit }: ItemContext,
  { git, lldText }: Designed,
): Promise<{ base: string; on: string[] }> {
  const { after, files } = designFacts(lldText);
  const head = await headCommit(git);
  const needed = await foundationsOf({ git, paths }, after);
  const on: string[] = [];
  let base = await stackedBase(git, head, needed);
  for (const { branch, commit } of needed) if (!(await isAncestor(git, commit, head))) on.push(branch);
  for (const foundation of onSameFiles(await openBranches({ git, paths }), { id, files })) {
    if (await isAncestor(git, foundation.commit, base)) continue;
    try {
      base = await stackedBase(git, base, [foundation]);
    } catch (error) {
      const { problem } = toErrorRecord(error);
      if (problem.code !== 'dependency-conflict') throw error;
      const text = `starts without ${foundation.branch}, which changes the same files: it conflicts in ${problem.files.join(', ')}`;
      emit({ type: 'notice', text });
      continue;
    }
    on.push(foundation.branch);
  }
  if (on.length > 0) emit({ type: 'notice', text: `starts from ${on.join(' and ')}, not merged yet` });
  return { base, on };
}

/** Findings of the checks, if files that the LLD names have changed since its approval. */
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
  // The commit may be gone after a rebase: then the LLD is checked.
  return git.text(command).then(
    (listing) => listing !== '',
    () => true,
  );
}

/** A file that git ignores would never be on the branch. */
async function ignoredAmong(git: Git, files: readonly LldFile[]): Promise<DocumentFinding[]> {
  const added = files.filter(({ change }) => change === 'Add');
  if (added.length === 0) return [];
  const input = added.map(({ path }) => `${path}\0`).join('');
  // Exit code 1: none of them is ignored.
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
      message: `${path} is ignored by git and would not be on the branch: change .gitignore or the path`,
    }));
}
