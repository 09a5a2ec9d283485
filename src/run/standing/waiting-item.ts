import { statSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { ItemId } from '../../core/ids.ts';
import { itemOfKey } from '../../core/item.ts';
import { parseJson } from '../../core/json.ts';
import { type Paths, STAGES, shownPath, type WorkflowName } from '../../core/paths.ts';
import type { Asked } from '../../core/summary.ts';
import { inspectJournal } from '../../journal/inspect.ts';
import { stepId } from '../../journal/journal.ts';
import { namesInSync } from '../../process/files.ts';
import { workedOnBy } from '../../process/lock.ts';
import { decisionStep, type Question, questionStep } from '../../workflow/decide.ts';
import type { Project } from '../project.ts';

/** An item that waits for a decision, or has one and was not resumed since. */
export interface WaitingItem {
  workflow: WorkflowName;
  id: ItemId;
  /** The journal step that the decision completes. */
  step: string;
  question: Question;
  askedAt: string;
  /** When the last decision was recorded; null: none. */
  decidedAt: string | null;
  /** The documents of all decisions, oldest first. The next run uses the last one. */
  decided: string[];
  /** The last decision is to drop the item. */
  isDropped: boolean;
}

const questionSchema: z.ZodType<Question> = z.object({
  id: z.string(),
  title: z.string(),
  input: z.string(),
  about: z.string(),
  reason: z.string(),
  obstacle: z.string().nullable(),
  openQuestions: z.array(z.string()),
  canRevise: z.boolean().default(true),
  folder: z.string(),
  number: z.int(),
});
const decisionSchema = z.object({
  kind: z.string(),
  at: z.string().default(''),
  document: z.string(),
  replaced: z.array(z.string()).default([]),
});

const LATER_FIRST: readonly WorkflowName[] = ['react', ...STAGES.toReversed()];

/** If an item waits in two workflows, the later stage counts. Writes nothing. */
export function waitingItem(
  paths: Paths,
  id: ItemId,
  workflows: readonly WorkflowName[] = LATER_FIRST,
): WaitingItem | null {
  for (const workflow of workflows) {
    const { latest: at = null, finished = [] } = inspectJournal(paths.checkpoint(workflow, id)) ?? {};
    const count = at === null ? null : decisionCount(at.name);
    if (at === null || count === null) continue;
    const resultsOf = (name: string) =>
      finished
        .filter((step) => step.name === name)
        .map((step) => ({ id: step.id, at: step.finishedAt, value: parseJson(step.result) }));
    // The same question may have been asked about an earlier text. The step's id says which one is open.
    const asked = resultsOf(questionStep(count)).find(
      ({ value }) => stepId({ name: at.name, inputs: value }) === at.id,
    );
    const question = questionSchema.safeParse(asked?.value);
    if (!question.success) continue;
    const stored = resultsOf(at.name).find((result) => result.id === at.id);
    const decision = decisionSchema.safeParse(stored?.value).data;
    const decided = decision === undefined ? [] : [...decision.replaced, decision.document];
    return {
      workflow,
      id,
      step: at.name,
      question: question.data,
      askedAt: asked?.at ?? '',
      decidedAt: decision?.at ?? null,
      decided,
      isDropped: decision?.kind === 'drop',
    };
  }
  return null;
}

/** The results for each journal file, with its size and dates: only changed files are read again. */
export type SeenJournals = Map<string, { stamp: string; waiting: WaitingItem | null }>;

/** Every such item, with the time of its last step. */
export function waitingItems(paths: Paths, seen: SeenJournals = new Map()): (WaitingItem & { sinceMs: number })[] {
  return namesInSync(paths.checkpoints).flatMap((name) => {
    const item = name.endsWith('.db') ? itemOfKey(name.slice(0, -'.db'.length)) : null;
    const file = join(paths.checkpoints, name);
    const found = item === null ? undefined : statSync(file, { throwIfNoEntry: false });
    if (item === null || found === undefined || workedOnBy(paths, item) !== null) return [];
    const log = statSync(`${file}-wal`, { throwIfNoEntry: false });
    const stamp = [found, log].map((one) => `${one?.ino} ${one?.size} ${one?.mtimeMs}`).join(' ');
    const known = seen.get(file);
    const waiting = known?.stamp === stamp ? known.waiting : waitingItem(paths, item.id, [item.workflow]);
    seen.set(file, { stamp, waiting });
    return waiting === null ? [] : [{ ...waiting, sinceMs: found.mtimeMs }];
  });
}

/** What a person can do about it. */
export function askedOf({ paths, placeFlags }: Project, waiting: WaitingItem): Asked {
  return { read: fileToRead(paths, waiting), decide: decideLine(waiting, placeFlags) };
}

function decideLine({ id, question }: WaitingItem, placeFlags: readonly string[]): string {
  const { obstacle, openQuestions, canRevise } = question;
  const choices = [
    ...(obstacle !== null ? [] : [openQuestions.length > 0 ? '--approve --reason "…"' : '--approve']),
    ...(canRevise ? ['--revise "…"'] : []),
    '--drop',
  ];
  return ['agentos', 'decide', id, ...placeFlags, choices.join(' | ')].join(' ');
}

/** The document that led to the question: the last verdict, or the draft that was not reviewed. Relative to the repository. */
function fileToRead(paths: Paths, { workflow, id, question }: WaitingItem): string | null {
  const isImplementation = workflow === 'implement' || workflow === 'react';
  const folder = isImplementation ? join(paths.home(workflow, id), 'reviews') : join(paths.repository, question.folder);
  const version = isImplementation ? /^review-(\d+)\.md$/ : /^(\d{3,})-(?:draft|verdict)\.md$/;
  const [last] = namesInSync(folder)
    .map((name) => ({ name, number: Number(version.exec(name)?.[1] ?? Number.NaN) }))
    .filter(({ number }) => (isImplementation ? number > 0 : number < question.number))
    .sort((a, b) => b.number - a.number);
  return last === undefined ? null : shownPath(paths.repository, join(folder, last.name));
}

function decisionCount(step: string): number | null {
  const count = Number(/-(\d+)$/.exec(step)?.[1] ?? Number.NaN);
  return step === decisionStep(count) ? count : null;
}
