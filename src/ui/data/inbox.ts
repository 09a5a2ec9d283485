import { join } from 'node:path';
import { type ItemId, isItemId } from '../../core/ids.ts';
import { keyOf } from '../../core/item.ts';
import { labelOf, WORKFLOWS } from '../../core/paths.ts';
import { lastTree, shownPatch } from '../../git/worktree/trees.ts';
import { itemHistories } from '../../run/history/run-history.ts';
import type { Project } from '../../run/project.ts';
import { type SeenJournals, type WaitingItem, waitingItem, waitingItems } from '../../run/standing/waiting-item.ts';
import type { InboxItem, QuestionDetail } from '../api.ts';
import { codeReviews, versionsIn } from './item-versions.ts';
import { documentBlocks, patchFiles } from './tree.ts';

/** The items that wait for a person. */
export interface Inbox {
  /** Over all runs, the longest waiting first, decided ones last. */
  items: () => Promise<InboxItem[]>;
  /** How many wait for a decision. Called every second, so it reads only journals that changed. */
  count: () => number;
}

/** How long costs are cached: they come from the summaries of all runs, and change only when a run ends. */
const HISTORIES_MS = 5_000;

export function createInbox({ paths }: Project): Inbox {
  const seen: SeenJournals = new Map();
  let known: { atMs: number; histories: ReturnType<typeof itemHistories> } | null = null;
  const historiesNow = (): ReturnType<typeof itemHistories> => {
    const nowMs = performance.now();
    if (known === null || nowMs - known.atMs > HISTORIES_MS) known = { atMs: nowMs, histories: itemHistories(paths) };
    return known.histories;
  };
  return {
    count: () => waitingItems(paths, seen).filter(({ decided }) => decided.length === 0).length,
    async items() {
      const waiting = waitingItems(paths, seen).filter(({ isDropped }) => !isDropped);
      const histories = waiting.length === 0 ? null : await historiesNow();
      return waiting
        .map((item) => {
          const { costUsd = 0, runs = 0 } = histories?.get(item.id) ?? {};
          return inboxItem(item, { costUsd, runs });
        })
        .toSorted((a, b) => Number(a.decided !== null) - Number(b.decided !== null) || a.sinceMs - b.sinceMs);
    },
  };
}

function inboxItem(
  { id, workflow, question, decided, sinceMs }: WaitingItem & { sinceMs: number },
  paid: Pick<InboxItem, 'costUsd' | 'runs'>,
): InboxItem {
  const { title, reason, openQuestions, obstacle, canRevise = true } = question;
  return {
    id,
    workflow,
    label: labelOf(workflow, id),
    title,
    asked: reason,
    questions: openQuestions,
    obstacle,
    canRevise,
    sinceMs,
    ...paid,
    decided: decided.at(-1) ?? null,
  };
}

/** The draft or change that led to the question, and its review. Null: it does not wait. */
export async function questionDetail(project: Project, stage: string, id: string): Promise<QuestionDetail | null> {
  const workflow = WORKFLOWS.find((one) => one === stage);
  if (workflow === undefined || !isItemId(id)) return null;
  const waiting = waitingItem(project.paths, id, [workflow]);
  if (waiting === null) return null;
  return workflow === 'implement' || workflow === 'react'
    ? changeDetail(project, workflow, id)
    : draftDetail(project, waiting);
}

async function draftDetail({ paths }: Project, { question }: WaitingItem): Promise<QuestionDetail> {
  const versions = await versionsIn(paths, join(paths.repository, question.folder));
  const before = versions.filter(({ number }) => number < question.number);
  const draft = before.findLast(({ kind }) => kind === 'draft');
  const review = before.findLast(({ kind, number }) => kind === 'verdict' && number > (draft?.number ?? 0));
  return {
    draft: documentBlocks(draft?.text),
    draftName: draft?.path ?? 'No draft',
    review: documentBlocks(review?.text),
    reviewName: review?.path ?? 'Not reviewed',
  };
}

async function changeDetail(
  { paths, git }: Project,
  workflow: 'implement' | 'react',
  id: ItemId,
): Promise<QuestionDetail> {
  const review = (await codeReviews(paths, workflow, id)).at(-1);
  // A reaction may ask before it changes anything.
  const hasChange = workflow === 'implement' || review !== undefined;
  const tree = hasChange ? await lastTree(git, keyOf({ workflow, id })) : null;
  const [branch] = (await git.text(['for-each-ref', '--format=%(refname)', `refs/heads/agentos/${id}-*`])).split('\n');
  const patch = tree === null || !branch ? '' : await shownPatch(git, branch, tree);
  return {
    draft: patch === '' ? [] : [{ type: 'diff', title: '', files: patchFiles(patch) }],
    draftName: workflow === 'implement' ? 'The change, on top of its tests' : 'The change to its pull request',
    review: documentBlocks(review?.text),
    reviewName: review === undefined ? 'Not reviewed' : `Review ${review.round}`,
  };
}
