import { relative, sep } from 'node:path';
import type { ItemEvent } from '../core/events.ts';
import { sha256 } from '../core/hash.ts';
import type { Paths, WorkflowName } from '../core/paths.ts';
import { type Decision, describeDecision } from '../documents/decision.ts';
import type { Journal } from '../journal/port.ts';
import type { AskPerson, OpenPoint } from './discussing.ts';
import { droppedRecord } from './dropped.ts';
import { createLineage, type NumberedLineage, nextVersionNumber } from './lineage.ts';

/** What a person is asked, as the journal keeps it until there is an answer. */
export interface Question {
  id: string;
  title: string;
  /** Of what the item is made from: the issue, the brief, the LLD. An answer counts for this text and no other. */
  input: string;
  /** Of the draft or the change that is decided on. */
  about: string;
  reason: string;
  obstacle: string | null;
  openQuestions: string[];
  /** Whether there is somebody to make a change; absent in the question of an older version: there is. */
  canRevise?: boolean;
  /** The folder of the lineage, relative to the repository, and the number that the decision has there. */
  folder: string;
  number: number;
}

export const questionStep = (count: number): string => `question-${count}`;
export const decisionStep = (count: number): string => `decision-${count}`;

export interface DeciderOptions {
  workflow: WorkflowName;
  /** `hash`: of what the item is made from. */
  item: { id: string; title: string; hash: string };
  journal: Journal;
  paths: Paths;
  /** Where the item's versions are. */
  folder: string;
  /**
   * The item's own, where it numbers its versions as it goes. Without one the decisions come after whatever is in the
   * folder, and nothing is written there before a person has decided.
   */
  lineage?: NumberedLineage;
  /** False where the recorded tour plays the part of whoever would make a change. */
  canRevise: boolean;
  emit: (event: ItemEvent) => void;
}

export interface Decider {
  ask: AskPerson;
  /** Records that the item is not to be done, and says how it ends. */
  drop: (decision: Decision) => Promise<{ status: 'skipped'; reason: string; outputs: string[] }>;
}

/** Thrown where nobody has decided yet: it leaves the step started, for whoever brings the answer. */
const undecided = new Error('nobody has decided');

/**
 * Asks a person, durably. Each question is two steps: `question-1` stores what is asked, and `decision-1` is started and
 * stays so. The next run replays up to there; by then it may have been settled with a person's word.
 */
export function createDecider(options: DeciderOptions): Decider {
  const { workflow, item, journal, paths, folder, canRevise, emit } = options;
  const { id, title, hash } = item;
  const onWritten = (path: string): void =>
    emit({ type: 'file-written', path: relative(paths.repository, path), what: 'lineage' });
  let asked = 0;
  let versions = options.lineage ?? null;

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
      folder: relative(paths.repository, folder).split(sep).join('/'),
      number: options.lineage?.nextNumber ?? (await nextVersionNumber(folder)),
    }));
    return value;
  };

  return {
    async ask(point) {
      asked += 1;
      const question = await questionOf(point);
      if (options.lineage === undefined) versions = createLineage(folder, question.number, onWritten);
      const step = decisionStep(asked);
      try {
        const { value: decision } = await journal.step<Decision>({ name: step, inputs: question }, () => {
          emit({ type: 'step-started', step, model: null });
          return Promise.reject(undecided);
        });
        emit({ type: 'step-finished', step, replayed: true, costUsd: 0, durationMs: 0 });
        emit({ type: 'notice', text: describeDecision(decision) });
        for (const document of [...(decision.replaced ?? []), decision.document])
          await versions?.add('verdict', document);
        return decision;
      } catch (error) {
        if (error === undecided) return null;
        throw error;
      }
    },
    async drop(decision) {
      await versions?.add('final', droppedRecord(decision, { workflow, id, title, hash }));
      return { status: 'skipped', reason: describeDecision(decision), outputs: [folder] };
    },
  };
}
