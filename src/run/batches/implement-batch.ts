import { relative } from 'node:path';
import { AgentosError, codeOf, toErrorRecord } from '../../core/errors.ts';
import { sha256 } from '../../core/hash.ts';
import type { ItemId } from '../../core/ids.ts';
import { nearest } from '../../core/nearest.ts';
import type { PlannedItem } from '../../core/plan.ts';
import { explanationOf } from '../../core/wording.ts';
import { isUntouched, readHeader } from '../../documents/header.ts';
import { branchNameOf, ourBranches } from '../../git/branches.ts';
import { commitFiles } from '../../git/repository.ts';
import { type Issue, isHashOf } from '../../source/port.ts';
import { designIds, readLldText } from '../../workflow/approved-documents.ts';
import { implementationsOf, onSameFiles, openBranches } from '../../workflow/implementations.ts';
import { closedItems } from '../../workflow/lineage.ts';
import { type Batch, type CollectedItem, readSome, serviceState } from '../pipeline.ts';
import { implementDemand } from '../planned-cost.ts';
import type { Project } from '../project.ts';
import { unpostedFor } from '../services/posts.ts';

export const implementBatch: Batch = {
  workflow: 'implement',
  roles: ['implementer', 'reviewer'],
  collect: implementBacklog,
  refuse: refuseUnrecorded,
  notes: async (project, items) => [...(await stackedItems(project, items)), ...(await undetectedTests(project))],
  demand: implementDemand,
  done: {
    reason: 'implemented already, for what its LLD says now',
    outputs: async ({ git }, { id, title }) => {
      const first = branchNameOf(id, title);
      const branches = await ourBranches(git);
      return [...branches.keys()].filter((name) => name.replace(/-\d+$/, '') === first || name === first);
    },
  },
  nothingToDo: 'every approved LLD is implemented',
};

/** `--again`: implements items again that are done, on a new branch. */
export const implementAgain: Batch = {
  ...implementBatch,
  async collect(project, ids) {
    const items = await implementBacklog(project, ids);
    return items.map(({ solved, ...item }) =>
      item.state === 'done' || solved !== undefined ? { ...item, state: 'pending' } : item,
    );
  },
};

/** Items that start from existing branches. The plan's groups show which items of the batch build on each other. */
async function stackedItems(project: Project, items: readonly PlannedItem[]): Promise<string[]> {
  if (items.length === 0) return [];
  const open = await openBranches(project);
  return items.flatMap((item) => {
    const branches = onSameFiles(open, item).map(({ branch }) => branch);
    if (branches.length === 0) return [];
    return [`${item.id} starts from ${branches.join(' and ')}, not merged yet: both change the same files.`];
  });
}

/** Warns if the tests can't be run. In a repository without any test the LLD names the first. */
async function undetectedTests({ paths, config, git }: Project): Promise<string[]> {
  if (config.implement.policy === 'off') return [];
  // Loaded here, because no other command of the parent needs to know test runners.
  const { findTests, packagesWithTests, undetectedIn } = await import('../../testing/detect.ts');
  const files = commitFiles(git, 'HEAD');
  try {
    await findTests(files, config.tests, paths.repository);
    return [];
  } catch (error) {
    const problem = undetectedIn(error);
    if (problem.script === null && problem.runner === null) return [];
    // In a monorepo the LLD says which package an item is about.
    if ((await packagesWithTests(files, config.tests)).length > 0) return [];
    return [`Implementations will fail. ${explanationOf(problem)}`];
  }
}

/** `offline` has only the code of the recorded tour, and only if it plays both roles. */
async function refuseUnrecorded({ config, paths }: Project, items: readonly CollectedItem[]): Promise<void> {
  const { implementer, reviewer } = config.models;
  const offline = [implementer, reviewer].filter((spec) => spec.trim() === 'offline').length;
  if (offline === 0) return;
  const { recordedCode } = await import('../../offline/tour.ts');
  const isRecorded = (id: ItemId): boolean =>
    offline === 2 && recordedCode(readLldText(paths.lld(id)) ?? '') !== undefined;
  const unrecorded = items.find(({ id, solved }) => solved === undefined && !isRecorded(id));
  // With nothing to implement, only the repository of the tour is not refused.
  if (unrecorded === undefined && (items.length > 0 || designIds(paths).some(isRecorded))) return;
  const id = unrecorded?.id ?? 'this repository';
  throw new AgentosError({ code: 'offline-no-code', id, why: 'not-recorded', file: null });
}

/** Exactly these ids, or all LLDs. An id without an LLD is an error, unless its issue needs none. */
async function implementBacklog(project: Project, ids: readonly ItemId[] | 'all'): Promise<CollectedItem[]> {
  const { paths, designs, source, config } = project;
  const written = designIds(paths);
  const known = new Set<string>(written);
  const isRemote = config.remote.source !== null;
  const issues = await openIssues(project, ids);
  const wanted = ids === 'all' ? written.filter((id) => !isRemote || issues.has(id)) : [...new Set(ids)];
  const implementations = await implementationsOf(project, wanted);
  const [closedIssue, closedDesign] = await Promise.all([
    closedItems(project, 'lld'),
    closedItems(project, 'implement'),
  ]);
  /** Null: there is no issue any more, or none that is open. */
  const issueOf = async (id: ItemId): Promise<Issue | null> =>
    isRemote || issues.has(id) ? await source.read(id) : null;
  /** An issue that was already done, so that it has no LLD. */
  const withoutDesign = async (id: ItemId): Promise<CollectedItem | null> => {
    const issue = await issueOf(id).catch(() => null);
    const closed = issue && (await closedIssue(issue));
    return issue && closed?.state === 'already-done'
      ? { id, title: issue.title, chars: issue.raw.length, ...closed }
      : null;
  };
  return readSome(wanted, async (id) => {
    const path = relative(paths.repository, paths.lld(id));
    if (!known.has(id)) {
      const item = await withoutDesign(id);
      if (item === null) throw new AgentosError({ code: 'lld-missing', id, path, near: nearest(id, written) });
      return item;
    }
    let text: string;
    try {
      text = readLldText(paths.lld(id)) ?? '';
    } catch (error) {
      return { id, title: id, state: 'unreadable', error: toErrorRecord(error) };
    }
    const lld = readHeader(text);
    const { title, files, after, ...names } = await designs.factsOf(text);
    const plain = { id, title, files, after, names, chars: text.length, digest: sha256(text) };
    const { status, bodyHash: approved, issueHash } = lld.header;
    const notReady = (why: 'edited' | 'status' | 'issue-changed'): CollectedItem => {
      const error = new AgentosError({ code: 'lld-not-approved', id, path, why });
      return { ...plain, state: 'not-ready', error: toErrorRecord(error) };
    };
    if (approved === null || status !== 'approved') return notReady('status');
    if (!isUntouched(lld)) return notReady('edited');
    const made = (implementations.get(id) ?? []).filter(({ lldHash }) => lldHash === approved);
    const isMerged = made.some(({ ref }) => ref === 'HEAD');
    const unposted = made.length > 0 && !isMerged ? unpostedFor(project, id) : null;
    if (unposted !== null) return { ...plain, state: 'pending', unposted };
    if (made.length > 0) return { ...plain, state: 'done' };
    const closed = await closedDesign({ id, hash: approved, rawHash: approved });
    if (closed !== null) return { ...plain, ...closed };
    // An approved LLD counts even if its issue is gone.
    const issue = await issueOf(id).catch((error: unknown) => {
      if (isRemote && codeOf(error) === 'issue-missing') return null;
      throw error;
    });
    if (issue !== null && !isHashOf(issueHash, issue)) return (await withoutDesign(id)) ?? notReady('issue-changed');
    return { ...plain, state: 'pending', ...(issue && serviceState(issue)) };
  });
}

/** Ids of open issues. For a service they are listed only with `--all`: issues that are named are read one by one. */
async function openIssues({ source, config }: Project, ids: readonly ItemId[] | 'all'): Promise<ReadonlySet<string>> {
  if (config.remote.source === null) return new Set(await source.ids().catch(() => []));
  return new Set(ids === 'all' ? await source.ids() : []);
}
