import type { Journal, StepKey } from '../journal/port.ts';
import { decisionStep, type Question, questionStep } from './decide.ts';
import type { AskedRole } from './item.ts';

type ModelRole = AskedRole | 'implementer';

/** Which model answers each step of an item. */
export interface ItemModels {
  /**
   * The one that is configured, unless a person has decided on what another one answered here: that other models are
   * configured now must not make a decision void.
   */
  pick(role: ModelRole, configured: string, keyOf: (model: string) => StepKey): string;
  /** The last one that was picked; null: none yet. */
  last(role: ModelRole): string | null;
  /** The last one of each role. */
  all(): Record<string, string>;
}

export function createItemModels(journal: Pick<Journal, 'has' | 'last'>, hash: string): ItemModels {
  const picked = new Map<ModelRole, string>();
  const decided = decidedQuestions(journal, hash);
  return {
    pick(role, configured, keyOf) {
      const earlier = decided.flatMap(({ models }) => models?.[role] ?? []);
      const model = earlier.find((each) => journal.has(keyOf(each))) ?? configured;
      picked.set(role, model);
      return model;
    },
    last: (role) => picked.get(role) ?? null,
    all: () => Object.fromEntries(picked),
  };
}

/** Questions about this text of the item that a person has answered; the last one first. */
function decidedQuestions(journal: Pick<Journal, 'has' | 'last'>, hash: string): Question[] {
  const decided: Question[] = [];
  for (let count = 1; ; count++) {
    // Under this name the journal holds what `createDecider` stored, and nothing else.
    const question = journal.last(questionStep(count)) as Question | undefined;
    if (question === undefined) return decided.reverse();
    const isDecided = journal.has({ name: decisionStep(count), inputs: question });
    if (isDecided && question.input === hash) decided.push(question);
  }
}
