import type { LldDocument } from '../document.ts';
import { type LldFinding, quote, warning } from './rule.ts';

/** A question that is open is for the reviewer to resolve, so it only warns. */
export function checkOpenQuestions(lld: LldDocument): LldFinding[] {
  return lld.openQuestions
    .filter((question) => !question.resolved)
    .map((question) =>
      warning('open-question', question.line, `Open question, for the reviewer to resolve: ${quote(question.text)}.`),
    );
}
