import { relative, sep } from 'node:path';
import { sha256 } from '../core/hash.ts';
import { type Decision, describeDecision } from '../documents/decision.ts';
import { droppedRecord } from './closed.ts';
import type { ItemContext, ItemResult } from './item.ts';
import { createLineage, type Lineage, nextVersionNumber } from './lineage.ts';

/** What a review loop can't decide by itself. */
export interface OpenPoint {
  reason: string;
  /** What is decided on: the draft, or the diff. */
  text: string;
  /** The review that led here; empty where there was none. */
  review: string;
  /** Why it can't be approved as it stands; null: it can. */
  obstacle: string | null;
  /** Unanswered questions of the text and its reviewer: an approval has to answer them. */
  openQuestions: string[];
}

/** Why a person was asked about this text, if that was the next question and they have answered it; else null. */
export type DecidedBefore = (text: string) => string | null;

/** Null: not decided yet. */
export type AskPerson = (point: OpenPoint) => Promise<Decision | null>;

/** What a person is asked, as the journal keeps it until there is an answer. */
export interface Question {
  id: string;
  title: string;
  /** The item's hash: an answer counts for this text and no other. */
  input: string;
  /** The hash of the draft or diff that is decided on. */
  about: string;
  reason: string;
  obstacle: string | null;
  openQuestions: string[];
  /** False where the recorded tour would have to make the change. Absent in checkpoints of older versions: true. */
  canRevise?: boolean;
  /** Whose answers led here, by role. Absent in checkpoints of older versions. */
  models?: Record<string, string>;
  /** The folder of the lineage, relative to the repository, and the number that the decision has there. */
  folder: string;
  number: number;
}

export const questionStep = (count: number): string => `question-${count}`;
export const decisionStep = (count: number): string => `decision-${count}`;

export interface DeciderOptions {
  /** Where the item's versions are. */
  folder: string;
  /**
   * The item's own, where it numbers its versions as it goes. Without one the decisions come after whatever is in the
   * folder, and nothing is written there before a person has decided.
   */
  lineage?: Lineage;
  /** False where the recorded tour would have to make the change. */
  canRevise: boolean;
}

export interface Decider {
  ask: AskPerson;
  decidedBefore: DecidedBefore;
  /** Records that the item is not to be done, and ends it. */
  drop: (decision: Decision) => Promise<ItemResult>;
}

/** Leaves the step open until `agentos decide` settles it. */
const undecided = new Error('not decided yet');

/**
 * Asks a person, durably. Each question is two steps: `question-1` stores what is asked, and `decision-1` is started and
 * stays open. The next run replays up to there; `agentos decide` may have settled it by then.
 */
export function createDecider(item: ItemContext, { folder, lineage, canRevise }: DeciderOptions): Decider {
  const { id, title, hash, journal, paths, emit } = item;
  let asked = 0;
  let versions = lineage ?? null;

  const questionOf = async (point: OpenPoint): Promise<Question> => {
    const about = sha256(point.text);
    const { reason, obstacle, openQuestions } = point;
    const inputs = { input: hash, about, reason };
    const { value } = await journal.step<Question>({ name: questionStep(asked), inputs }, async () => ({
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
    return value;
  };

  return {
    async ask(point) {
      asked += 1;
      const question = await questionOf(point);
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
    decidedBefore(text) {
      const question = journal.last(questionStep(asked + 1)) as Question | undefined;
      if (question?.input !== hash || question.about !== sha256(text)) return null;
      return journal.has({ name: decisionStep(asked + 1), inputs: question }) ? question.reason : null;
    },
    async drop(decision) {
      await versions?.add('final', droppedRecord(item, decision));
      return { status: 'skipped', reason: describeDecision(decision), outputs: [folder] };
    },
  };
}
