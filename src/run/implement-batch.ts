import { relative } from 'node:path';
import { AgentosError, codeOf, toErrorRecord } from '../core/errors.ts';
import { implementDemand } from '../core/expected-cost.ts';
import { sha256 } from '../core/hash.ts';
import { type ItemId, isItemId } from '../core/ids.ts';
import { nearest } from '../core/nearest.ts';
import type { PlannedItem } from '../core/plan.ts';
import { wordingOf } from '../core/wording.ts';
import { isUntouched, readHeader } from '../documents/header.ts';
import { branchesNear, branchNameOf } from '../git/branches.ts';
import { createGit } from '../git/git.ts';
import { commitFiles } from '../git/repository.ts';
import { namesInside } from '../process/text-file.ts';
import { type Issue, isHashOf } from '../source/port.ts';
import { readLldText } from '../workflow/approved-lld.ts';
import { closedItems } from '../workflow/closed.ts';
import { implementationsOf, onSameFiles, openBranches } from '../workflow/implementations.ts';
import { heldBack } from './held-back.ts';
import { type Batch, type CollectedItem, readSome } from './pipeline.ts';
import { unpostedFor } from './posts.ts';
import type { Project } from './project.ts';

export const implementBatch: Batch = {
  workflow: 'implement',
  task: { builtIn: 'implement' },
  roles: ['implementer', 'reviewer'],
  collect: implementBacklog,
  refuse: refuseUnrecorded,
  obstacles: undetectedTests,
  begins: stackedItems,
  demand: implementDemand,
  done: {
    reason: 'implemented already, for what its LLD says now',
    outputs: async ({ paths, childEnv }, { id, title }) => {
      const first = branchNameOf(id, title);
      const branches = await branchesNear(createGit(paths.repository, childEnv), first);
      return [...branches.keys()].filter((name) => name.replace(/-\d+$/, '') === first || name === first);
    },
  },
  nothingToDo: 'every approved LLD is implemented',
};

/** `--again`: what is implemented is done over, on a branch beside the first. */
export const implementAgain: Batch = {
  ...implementBatch,
  async collect(project, ids) {
    const items = await implementBacklog(project, ids);
    return items.map(({ solved, ...item }) =>
      item.state === 'done' || solved !== undefined ? { ...item, state: 'pending' } : item,
    );
  },
};

/** On branches that are there already; of items of the same batch the groups of the plan tell. */
async function stackedItems({ paths, childEnv }: Project, items: readonly PlannedItem[]): Promise<string[]> {
  if (items.length === 0) return [];
  const open = await openBranches(createGit(paths.repository, childEnv), paths);
  return items.flatMap((item) => {
    const branches = onSameFiles(open, item).map(({ branch }) => branch);
    if (branches.length === 0) return [];
    return [`${item.id} begins at ${branches.join(' and ')}, not merged yet: both change the same files.`];
  });
}

/** A design is of no use if its code can't be proved. Where there is no test at all yet, it names the first. */
async function undetectedTests({ paths, config, childEnv }: Project): Promise<string[]> {
  if (config.implement.policy === 'off') return [];
  const git = createGit(paths.repository, childEnv);
  // Loaded when it is needed: no other command of the parent knows test runners.
  const { findTests, packagesWithTests, undetectedIn } = await import('../testing/detect.ts');
  const files = commitFiles(git, 'HEAD');
  try {
    await findTests(files, config.tests, paths.repository);
    return [];
  } catch (error) {
    const problem = undetectedIn(error);
    if (problem.script === null && problem.runner === null) return [];
    // Which package an item is about is known by its LLD.
    if ((await packagesWithTests(files, config.tests)).length > 0) return [];
    const { message, hint } = wordingOf(problem);
    return [`Implementations will fail. ${message} ${hint ?? ''}`.trimEnd()];
  }
}

/** `offline` has the code of the recorded tour, if it plays every role, and no other. */
async function refuseUnrecorded({ config, paths }: Project, items: readonly CollectedItem[]): Promise<void> {
  const { implementer, reviewer } = config.models;
  const offline = [implementer, reviewer].filter((spec) => spec.trim() === 'offline').length;
  if (offline === 0 || items.length === 0) return;
  const { recordedCode } = await import('../offline/recorded-code.ts');
  for (const { id } of items.filter(({ solved }) => solved === undefined)) {
    const lld = readLldText(paths.lld(id)) ?? '';
    if (offline === 2 && recordedCode(lld) !== null) continue;
    throw new AgentosError({ code: 'offline-no-code', id, why: 'not-recorded', file: null });
  }
}

/**
 * Exactly these ids (one without an LLD is an error, nothing is started, unless its issue needs none), or every LLD there is.
 */
async function implementBacklog(project: Project, ids: readonly ItemId[] | 'all'): Promise<CollectedItem[]> {
  const { paths, childEnv, designs, source, config } = project;
  const written = namesInside(paths.llds, paths.repository).flatMap((name) => {
    const id = /^LLD-(.+)\.md$/.exec(name)?.[1] ?? '';
    return isItemId(id) ? [id] : [];
  });
  const known = new Set(written);
  const isRemote = config.remote.source !== null;
  const issues = await openIssues(project, ids);
  const all = written.filter((id) => !isRemote || issues.has(id)).sort(byNumber);
  const wanted = ids === 'all' ? all : [...new Set(ids)];
  const git = createGit(paths.repository, childEnv);
  const closedIssue = await closedItems(paths, git, 'lld');
  /** An issue that was done without a design. */
  const withoutDesign = async (id: ItemId): Promise<CollectedItem | null> => {
    const issue = isRemote || issues.has(id) ? await source.read(id).catch(() => null) : null;
    const closed = issue === null ? null : await closedIssue(issue);
    if (issue === null || closed?.state !== 'already-done') return null;
    return { id, title: issue.title, error: null, chars: issue.raw.length, ...closed };
  };
  const undesigned = new Map<string, CollectedItem>();
  for (const id of wanted.filter((one) => !known.has(one))) {
    const item = await withoutDesign(id);
    const path = relative(paths.repository, paths.lld(id));
    if (item === null) throw new AgentosError({ code: 'lld-missing', id, path, near: nearest(id, written) });
    undesigned.set(id, item);
  }
  const implementations = await implementationsOf(git, paths, wanted);
  const closedDesign = await closedItems(paths, git, 'implement');
  return readSome(wanted, async (id) => {
    const item = undesigned.get(id);
    if (item !== undefined) return item;
    let text: string;
    try {
      text = readLldText(paths.lld(id)) ?? '';
    } catch (error) {
      return { id, title: id, state: 'unreadable', error: toErrorRecord(error), chars: 0 };
    }
    const lld = readHeader(text);
    const { title, files, after, ...names } = await designs.factsOf(text);
    const plain = { id, title, files, after, names, chars: text.length, error: null, digest: sha256(text) };
    const { status, bodyHash: approved, issueHash } = lld.header;
    const notReady = (why: 'edited' | 'status' | 'issue-changed'): CollectedItem => {
      const path = relative(paths.repository, paths.lld(id));
      const error = new AgentosError({ code: 'lld-not-approved', id, path, why });
      return { ...plain, state: 'not-ready', error: toErrorRecord(error) };
    };
    if (approved === null || status !== 'approved') return notReady('status');
    if (!isUntouched(lld)) return notReady('edited');
    const made = (implementations.get(id) ?? []).filter(({ lldHash }) => lldHash === approved);
    const [isDone, isMerged] = [made.length > 0, made.some(({ ref }) => ref === 'HEAD')];
    const unposted = isDone && !isMerged ? unpostedFor(project, id) : null;
    if (unposted !== null) return { ...plain, state: 'pending', unposted };
    if (isDone) return { ...plain, state: 'done' };
    const closed = await closedDesign({ id, hash: approved, rawHash: approved });
    if (closed !== null) return { ...plain, ...closed };
    // An approved LLD whose issue is gone stands on its own.
    const issue = isRemote || issues.has(id) ? await issueOf(project, id) : null;
    const hasChanged = issue !== null && !isHashOf(issueHash, issue);
    if (!hasChanged) return { ...plain, state: 'pending', ...(issue === null ? {} : heldBack(issue)) };
    return (await withoutDesign(id)) ?? notReady('issue-changed');
  });
}

/** Of a service only what is selected, and only where that is asked for: an issue that is named is read by itself. */
async function openIssues({ source, config }: Project, ids: readonly ItemId[] | 'all'): Promise<ReadonlySet<string>> {
  if (config.remote.source === null) return new Set(await source.ids().catch(() => []));
  return new Set(ids === 'all' ? await source.ids() : []);
}

async function issueOf({ source, config }: Project, id: ItemId): Promise<Issue | null> {
  return source.read(id).catch((error: unknown) => {
    if (config.remote.source !== null && codeOf(error) === 'issue-missing') return null;
    throw error;
  });
}

const { compare: byNumber } = new Intl.Collator('en', { numeric: true });
