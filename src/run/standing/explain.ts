import { codeOf } from '../../core/errors.ts';
import type { ItemId } from '../../core/ids.ts';
import type { ItemDetail } from '../../core/summary.ts';
import { messageOf, wordingOf } from '../../core/wording.ts';
import type { Issue } from '../../source/port.ts';
import { serviceState, whyUnselected } from '../pipeline.ts';
import { pipelineNamed, planBatch } from '../plan-batch.ts';
import { type Project, withCachedIssues } from '../project.ts';
import { openedFor } from '../services/posts.ts';
import { detailOf } from './item-standing.ts';

/** Why an item is taken or not, and what comes next. */
export interface Explanation {
  id: ItemId;
  title: string | null;
  /** Where issues come from. */
  source: string;
  url: string | null;
  /** Why the issue can't be read now; then everything is as last read. Null: it was read. */
  offline: string | null;
  /** A run would work on it. */
  taken: boolean;
  why: string;
  waitsFor: ItemDetail['waitsFor'] | 'issue';
  next: string;
  state: ItemDetail['state'] | null;
  question: ItemDetail['question'];
  lld: string | null;
  branch: string | null;
  pullRequests: { number: number; url: string; state: string }[];
  blockedBy: string[];
  doubt: string | null;
  comments: { used: number; leftOut: number; ignoredCommands: number };
}

/** Rejects if there is no such item. Writes nothing. */
export async function explain(project: Project, id: ItemId): Promise<Explanation> {
  const { source } = project;
  const { issue, refused, offline } = await readIssue(project, id);
  const seen = offline === null ? project : withCachedIssues(project);
  const detail = refused === null ? await detailOf(seen, id) : null;
  if (issue === null && refused === null && detail === null) await source.read(id);
  const verdict = refused === null ? await verdictOf(seen, id, issue, detail) : no(refused, 'nothing');
  const facts = issue?.facts;
  const { used = [], leftOut = 0 } = facts?.comments ?? {};
  const opened = openedFor(project, id);
  const known = facts?.answeredBy ?? [];
  const isListed = opened === null || known.some(({ url }) => url === opened.url);
  return {
    id,
    title: issue?.title ?? detail?.title ?? null,
    source: source.location,
    url: facts?.url ?? null,
    offline,
    ...verdict,
    state: detail?.state ?? null,
    question: detail?.question ?? null,
    lld: detail?.lld ?? null,
    branch: detail?.branch ?? null,
    pullRequests: isListed ? known : [...known, { ...opened, state: 'opened by this program' }],
    blockedBy: facts?.blockedBy ?? [],
    doubt: facts?.doubt ?? null,
    comments: { used: used.length, leftOut, ignoredCommands: facts?.ignoredCommands ?? 0 },
  };
}

/** The current issue, and why it can't be an item. If the service can't be read: the issue as last read, and why that is. */
async function readIssue(
  { source, issueCache }: Project,
  id: ItemId,
): Promise<{ issue: Issue | null; refused: string | null; offline: string | null }> {
  const none = { issue: null, refused: null, offline: null };
  try {
    return { ...none, issue: await source.read(id) };
  } catch (failure) {
    const code = codeOf(failure);
    if (code === 'issue-not-taken') return { ...none, refused: messageOf(failure) };
    if (code === 'issue-missing' || code === 'source-missing') return none;
    const issue = code?.startsWith('host-') ? await issueCache.lastKnown.read(id).catch(() => null) : null;
    if (issue === null) throw failure;
    return { ...none, issue, offline: messageOf(failure) };
  }
}

type Verdict = Pick<Explanation, 'taken' | 'why' | 'waitsFor' | 'next'>;

function no(why: string, next: string, waitsFor: Verdict['waitsFor'] = null): Verdict {
  return { taken: false, why, waitsFor, next };
}

async function verdictOf(
  project: Project,
  id: ItemId,
  issue: Issue | null,
  detail: ItemDetail | null,
): Promise<Verdict> {
  if (detail === null) return no('there is neither an issue nor an LLD', 'nothing');
  const { state, waitsFor, reason, isUnderWay, question, branch } = detail;
  const held = issue === null ? null : serviceState(issue);
  if (isUnderWay)
    return { taken: true, why: 'a run is working on it, or will', waitsFor, next: 'agentos status shows where it is' };
  if (waitsFor === 'person') {
    const comment = project.config.remote.source === null ? '' : ', or /agentos approve, revise or drop in a comment';
    return no(`it waits for a person: ${reason ?? ''}`, `${question?.decide ?? 'agentos decide'}${comment}`, waitsFor);
  }
  if (state === 'merged') return no('it is implemented and merged', 'nothing');
  if (state === 'branch') {
    const isOpened = openedFor(project, id) !== null;
    const next = isOpened
      ? 'review its pull request'
      : 'merge the branch, or open a pull request: agentos implement --pr';
    return no(`it is implemented on ${branch}`, next);
  }
  if (state === 'dropped') return no('a person dropped it, for what it says now', 'nothing until its text changes');
  if (state === 'unreadable') return no(reason ?? 'it can’t be read', 'fix it');
  if (held?.state === 'already-done') return no(held.solved.reason, 'review the pull request, or close it', 'person');
  if (state === 'already-done')
    return no(reason ?? 'it was already done', 'nothing until its text or that code changes');
  if (held?.state === 'not-ready')
    return no(wordingOf(held.error.problem).message, 'a run takes it when those issues are closed', 'issue');
  const planned = await plannedNext(project, id);
  const unselected = issue === null ? null : whyUnselected(project, issue);
  if (unselected !== null) return no(unselected, `if you name it: ${planned}`, waitsFor);
  const doubt = issue?.facts?.doubt ?? null;
  if (doubt !== null)
    return { taken: true, why: doubt, waitsFor: 'person', next: 'a run asks a person to read it first' };
  return { taken: true, why: reason ?? 'nothing prevents it', waitsFor, next: planned };
}

/** What the next run would start with, or why it could not. */
async function plannedNext(project: Project, id: ItemId): Promise<string> {
  try {
    const plan = await planBatch({ project, pipeline: pipelineNamed('run'), ids: [id], parallel: 1, isDryRun: false });
    const [item] = plan.items;
    if (item === undefined) return 'nothing';
    const how = item.state === 'resumed' ? `resumes at ${item.fromStep ?? 'its last step'}` : 'starts';
    return item.error === null ? `agentos ${item.workflow} ${id} ${how}` : wordingOf(item.error.problem).message;
  } catch (error) {
    return `it can’t be planned: ${messageOf(error)}`;
  }
}
