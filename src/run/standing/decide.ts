import { existsSync } from 'node:fs';
import { join, relative } from 'node:path';
import { systemClock } from '../../core/clock.ts';
import { AgentosError } from '../../core/errors.ts';
import type { ItemId } from '../../core/ids.ts';
import { type Paths, WORKFLOWS, type WorkflowName } from '../../core/paths.ts';
import { type Decision, type DecisionKind, decisionOf } from '../../documents/decision.ts';
import { bodyHash, readFrontMatter, writeFrontMatter } from '../../documents/header.ts';
import { personOf } from '../../git/repository.ts';
import { openSqliteJournal } from '../../journal/sqlite.ts';
import { requireInside, writeFileAtomic } from '../../process/files.ts';
import { lockItem } from '../../process/lock.ts';
import { createBriefSource } from '../../source/directory.ts';
import type { Issue } from '../../source/port.ts';
import { isApprovedForAnother, readLldFile, readLldText } from '../../workflow/approved-documents.ts';
import { nextVersionNumber, placeVersion, versionName } from '../../workflow/lineage.ts';
import { itemHistories } from '../history/run-history.ts';
import type { Project } from '../project.ts';
import { type WaitingItem, waitingItem } from './waiting-item.ts';

export interface Word {
  kind: DecisionKind;
  reason: string | null;
  change: string | null;
}

/** Who decided, if not the user of this machine. */
type Decider = Pick<Decision, 'by' | 'at'>;

interface Decided {
  workflow: WorkflowName;
  decision: Decision;
  /** The file with the decision, relative to the repository. */
  lineage: string;
  /** It replaces an earlier decision that no run has used. */
  replaces: boolean;
  /** The LLD that is now approved for the new text of its issue, relative to the repository, so that nothing has to run. */
  kept: string | null;
}

/**
 * Records a person's decision on an item in DISCUSS. Throws and writes nothing if the item does not wait, a run is working on it, or
 * the decision does not fit the question. A decision that no run has used yet is replaced; the lineage keeps both.
 */
export async function decide(project: Project, id: ItemId, word: Word, who: Decider | null = null): Promise<Decided> {
  const { paths } = project;
  const workflow = waitingItem(paths, id)?.workflow;
  if (workflow === undefined) return keepLld(project, id, word, who);
  const lock = lockItem(paths, { workflow, id });
  try {
    // A run may have resumed the item before the lock was acquired.
    const waiting = waitingItem(paths, id);
    if (waiting?.workflow !== workflow) throw await notWaiting(paths, id);
    await refuseUnfit(project, waiting, word);
    const { question, decided } = waiting;
    const decision = await decisionFor(project, question, word, who);
    if (decided.length > 0) decision.replaced = decided;
    const folder = join(paths.repository, question.folder);
    requireInside(folder, paths.lineages);
    const number = placeVersion(folder, question.number + decided.length, 'verdict', decision.document).number;
    const lineage = `${question.folder}/${versionName(number, 'verdict')}`;
    // The journal first: it decides, and a run writes the file if we can't.
    if (!(await settle(paths, waiting, decision))) throw await notWaiting(paths, id);
    await writeFileAtomic(join(paths.repository, lineage), decision.document);
    return { workflow, decision, lineage, replaces: decided.length > 0, kept: null };
  } finally {
    lock.release();
  }
}

/** Throws if `decide` would refuse; records nothing. */
export async function requireDecidable(project: Project, id: ItemId, word: Word): Promise<void> {
  const waiting = waitingItem(project.paths, id);
  if (waiting === null) throw await notWaiting(project.paths, id);
  await refuseUnfit(project, waiting, word);
}

async function settle(paths: Paths, { workflow, id, step }: WaitingItem, decision: Decision): Promise<boolean> {
  const journal = openSqliteJournal(paths.checkpoint(workflow, id), { clock: systemClock });
  try {
    return await journal.settle(step, decision);
  } finally {
    journal.close();
  }
}

async function decisionFor(
  { git, mask }: Project,
  { id, title, reason }: Pick<WaitingItem['question'], 'id' | 'title' | 'reason'>,
  word: Word,
  who: Decider | null,
): Promise<Decision> {
  const masked = (text: string | null): string | null => (text === null ? null : mask(text));
  return decisionOf({
    kind: word.kind,
    reason: masked(word.reason),
    change: masked(word.change),
    by: who?.by ?? (await personOf(git)),
    at: who?.at ?? new Date().toISOString(),
    id,
    title,
    asked: reason,
  });
}

async function refuseUnfit(project: Project, { workflow, id, question }: WaitingItem, word: Word): Promise<void> {
  const refuse = (why: 'changed' | 'checks' | 'questions' | 'recorded', detail: string): never => {
    throw new AgentosError({ code: 'decision-refused', id, workflow, why, detail });
  };
  if ((await inputHash(project, workflow, id)) !== question.input) refuse('changed', '');
  if (word.kind === 'revise' && question.canRevise === false) refuse('recorded', '');
  if (word.kind !== 'approve') return;
  if (question.obstacle !== null) refuse('checks', question.obstacle);
  if (question.openQuestions.length > 0 && word.reason === null)
    refuse('questions', question.openQuestions.join(' / '));
}

/** The hash of what the item is made from, as it is now. */
export async function inputHash({ paths, source }: Project, workflow: WorkflowName, id: ItemId): Promise<string> {
  switch (workflow) {
    case 'issue':
      return (await createBriefSource(paths.briefs).read(id)).hash;
    case 'lld':
    case 'eval':
    case 'land':
      return (await source.read(id)).hash;
    case 'react':
      return waitingItem(paths, id, ['react'])?.question.input ?? '';
    case 'implement':
      return bodyHash(readFrontMatter(readLldText(paths.lld(id)) ?? '').body);
  }
}

async function notWaiting(paths: Paths, id: ItemId): Promise<AgentosError> {
  return new AgentosError({ code: 'not-waiting', id, last: (await itemHistories(paths)).get(id)?.last ?? null });
}

/** The current issue, if its LLD was approved for another text of it; else null. */
async function outgrownIssue({ paths, source }: Project, id: ItemId): Promise<Issue | null> {
  const lld = await readLldFile(paths.lld(id));
  const issue = lld && (await source.read(id).catch(() => null));
  return lld && issue && isApprovedForAnother(lld, issue) ? issue : null;
}

/** Approves an existing LLD for the new text of its issue, on a person's decision. Calls no model. */
async function keepLld(project: Project, id: ItemId, word: Word, who: Decider | null): Promise<Decided> {
  const { paths, mask } = project;
  // That a run works on the item says more than that it does not wait.
  for (const workflow of WORKFLOWS)
    if (existsSync(paths.checkpoint(workflow, id))) lockItem(paths, { workflow, id }).release();
  if (word.kind !== 'approve' || (await outgrownIssue(project, id)) === null) throw await notWaiting(paths, id);
  if (word.reason === null)
    throw new AgentosError({ code: 'decision-refused', id, workflow: 'lld', why: 'kept', detail: '' });
  const lock = lockItem(paths, { workflow: 'lld', id });
  try {
    // A run may have replaced the LLD before the lock was acquired.
    const issue = await outgrownIssue(project, id);
    if (issue === null) throw await notWaiting(paths, id);
    const { title, hash, raw } = issue;
    const asked = `Issue ${id} says something else than when its LLD was approved.`;
    const decision = await decisionFor(project, { id, title, reason: asked }, word, who);
    const folder = paths.lineage(id);
    const number = nextVersionNumber(folder);
    const verdict = join(folder, versionName(number + 1, 'verdict'));
    // The next change of the issue is compared with this text.
    await writeFileAtomic(join(folder, versionName(number, 'issue')), `${mask(raw).replace(/\n$/, '')}\n`);
    await writeFileAtomic(verdict, decision.document);
    const { fields, body } = readFrontMatter(readLldText(paths.lld(id)) ?? '');
    const { by, reason } = decision;
    const kept = { ...fields, issueHash: hash, keptBy: by, keptBecause: reason };
    await writeFileAtomic(paths.lld(id), writeFrontMatter(body, kept));
    const shown = (file: string): string => relative(paths.repository, file);
    return { workflow: 'lld', decision, lineage: shown(verdict), replaces: false, kept: shown(paths.lld(id)) };
  } finally {
    lock.release();
  }
}
