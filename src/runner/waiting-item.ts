import { z } from 'zod';
import type { ItemId } from '../core/ids.ts';
import { type Paths, WORKFLOWS, type WorkflowName } from '../core/paths.ts';
import { inspectJournal, inspectResults } from '../journal/inspect.ts';
import { stepId } from '../journal/step-id.ts';
import { decisionStep, type Question, questionStep } from '../workflow/deciding.ts';

/** An item that waits for a person, and for what. */
export interface WaitingItem {
  workflow: WorkflowName;
  id: ItemId;
  /** The step of its journal that the decision settles. */
  step: string;
  question: Question;
}

const questionSchema: z.ZodType<Question> = z.object({
  id: z.string(),
  title: z.string(),
  input: z.string(),
  about: z.string(),
  reason: z.string(),
  obstacle: z.string().nullable(),
  openQuestions: z.array(z.string()),
  folder: z.string(),
  number: z.int(),
});

const LATER_FIRST = WORKFLOWS.toReversed();

/** Of an item that waits in two workflows, the later stage counts. Looks, and writes nothing. */
export function waitingItem(paths: Paths, id: ItemId): WaitingItem | null {
  for (const workflow of LATER_FIRST) {
    const file = paths.checkpoint(workflow, id);
    const at = inspectJournal(file)?.latest ?? null;
    const count = at === null || at.isFinished ? null : decisionCount(at.name);
    if (at === null || count === null) continue;
    // The same question may have been asked about another text before; the id of the step tells which one is open.
    const question = inspectResults(file, questionStep(count)).find(
      (inputs) => stepId({ name: at.name, inputs }) === at.id,
    );
    const parsed = questionSchema.safeParse(question);
    if (parsed.success) return { workflow, id, step: at.name, question: parsed.data };
  }
  return null;
}

/** The workflow in which an item was decided on and has not gone on since, or null. */
export function decidedWorkflow(paths: Paths, id: ItemId): WorkflowName | null {
  const decided = LATER_FIRST.find((workflow) => {
    const at = inspectJournal(paths.checkpoint(workflow, id))?.latest;
    return at?.isFinished && decisionCount(at.name) !== null;
  });
  return decided ?? null;
}

function decisionCount(step: string): number | null {
  const count = Number(/-(\d+)$/.exec(step)?.[1] ?? Number.NaN);
  return step === decisionStep(count) ? count : null;
}
