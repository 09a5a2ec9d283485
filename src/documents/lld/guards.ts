import { isGuardFinding, type Review } from '../review/review.ts';
import { readLld } from './document.ts';
import { isGuard, type LldScenario, namesScenario } from './scenarios.ts';

/** Numbers with a unit are not ids. */
const AMOUNT = /\b\d+ ?(?:%|(?:ms|s|seconds?|minutes?|bytes?|[kmg]b|lines?|files?|items?|times)\b)/gi;

/** The scenarios that findings in the area Guard name by their ids. */
export function guardsIn<Scenario extends Pick<LldScenario, 'id'>>(
  { findings }: Pick<Review, 'findings'>,
  scenarios: readonly Scenario[],
): Scenario[] {
  const said = findings.filter(isGuardFinding).map(({ text }) => text.replace(AMOUNT, ''));
  return scenarios.filter(({ id }) => said.some((text) => namesScenario(text, id)));
}

/** Sets the type of the scenarios that the reviewer calls guards; every other byte stays. */
export function withGuards(draft: string, review: Pick<Review, 'findings'>): string {
  if (!review.findings.some(isGuardFinding)) return draft;
  const { text, scenarios } = readLld(draft);
  const cells = guardsIn(review, scenarios)
    .filter((scenario) => !isGuard(scenario))
    .flatMap(({ typeCell }) => typeCell ?? []);
  if (cells.length === 0) return draft;
  let edited = text;
  for (const { start, end } of cells.toSorted((left, right) => right.start - left.start)) {
    const cell = text.slice(start, end).replace(/^(\|?\s*)[^|]*?(\s*)$/, '$1Guard$2');
    edited = edited.slice(0, start) + cell + edited.slice(end);
  }
  return edited;
}
