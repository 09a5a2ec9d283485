import { relative, sep } from 'node:path';
import { sha256 } from '../core/hash.ts';
import { type Decision, describeDecision } from '../documents/decision.ts';
import type { ItemContext, ItemResult } from './item.ts';
import { createLineage, droppedRecord, type Lineage, nextVersionNumber } from './lineage.ts';

/** What a review loop can't decide by itself. */
export interface OpenPoint {
  reason: string;
  /** The draft or the diff to decide on. */
  text: string;
  /** Why it can't be approved; absent: it can. */
  obstacle?: string | null;
  /** Unanswered questions of the text and its reviewer: an approval has to answer them. */
  openQuestions?: string[];
}

/** A question to a person, as the journal stores it. */
export interface Question {
  id: string;
  title: string;
  /** The item's hash: an answer is valid for this text only. */
  input: string;
  /** The hash of the draft or diff. */
  about: string;
  reason: string;
  obstacle: string | null;
  openQuestions: string[];
  /** False for the recorded tour, which can't make a change. Absent in checkpoints of older versions: true. */
  canRevise?: boolean;
  /** The models that were asked, by role. Absent in checkpoints of older versions. */
  models?: Record<string, string>;
  /** The folder of the lineage, relative to the repository, and the number of the decision in it. */
  folder: string;
  number: number;
}

export const questionStep = (count: number): string => `question-${count}`;
export const decisionStep = (count: number): string => `decision-${count}`;

export type Decider = ReturnType<typeof createDecider>;

/** Thrown in a decision step, which leaves it open. */
const undecided = new Error('not decided yet');

/**
 * Asks a person, durably. Each question is two steps: `question-1` stores the question, and `decision-1` is started and
 * stays open until `agentos decide` settles it. The next run replays up to there and finds the decision, or waits again.
 * `folder`: of the item's lineage, in which decisions are numbered after what is there, unless a document's `lineage` does that.
 */
export function createDecider(
  item: ItemContext,
  { folder, lineage, canRevise }: { folder: string; lineage?: Lineage; canRevise: boolean },
) {
  const { id, title, hash, journal, paths, emit } = item;
  let asked = 0;
  let versions = lineage ?? null;

  return {
    /** Null: not decided yet. */
    ask: async ({ reason, text, obstacle = null, openQuestions = [] }: OpenPoint): Promise<Decision | null> => {
      asked += 1;
      const about = sha256(text);
      const inputs = { input: hash, about, reason };
      const { value: question } = await journal.step<Question>({ name: questionStep(asked), inputs }, async () => ({
        id,
        title,
        input: hash,
        about,
        reason,
        obstacle,
        openQuestions,
        canRevise,
        models: item.models.all(),
        folder: relative(paths.repository, folder).split(sep).join('/'),
        number: lineage?.nextNumber ?? nextVersionNumber(folder),
      }));
      if (lineage === undefined) versions = createLineage(item, folder, question.number);
      try {
        const { value: decision } = await item.step<Decision>({ name: decisionStep(asked), inputs: question }, () =>
          Promise.reject(undecided),
        );
        emit({ type: 'notice', text: describeDecision(decision) });
        for (const document of [...(decision.replaced ?? []), decision.document])
          await versions?.add('verdict', document);
        return decision;
      } catch (error) {
        if (error === undecided) return null;
        throw error;
      }
    },
    /** Why a person was asked about this text, if that is the next question and they have answered it; else null. */
    decidedBefore: (text: string): string | null => {
      const question = journal.last(questionStep(asked + 1)) as Question | undefined;
      if (question?.input !== hash || question.about !== sha256(text)) return null;
      return journal.has({ name: decisionStep(asked + 1), inputs: question }) ? question.reason : null;
    },
    /** Records that the item was dropped, and ends it. */
    drop: async (decision: Decision): Promise<ItemResult> => {
      await versions?.add('final', droppedRecord(item, decision));
      return { status: 'skipped', reason: describeDecision(decision), outputs: [folder] };
    },
  };
}
