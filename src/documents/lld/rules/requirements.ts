import type { LldDocument } from '../document.ts';
import { error, type LldFinding, quote } from './rule.ts';

/** `requirement-none`, `requirement-duplicate`, `requirement-uncovered`. */
export function checkRequirements(lld: LldDocument): LldFinding[] {
  const section = lld.sections.find(({ id }) => id === '3');
  if (!section) return [];
  if (lld.requirements.length === 0) {
    const isEmpty = section.nodes.length === 0;
    return isEmpty
      ? []
      : [
          error(
            'requirement-none',
            section.line,
            'Section 3 has no numbered requirement: write them as a list "1. …", each one testable.',
          ),
        ];
  }
  return [...duplicates(lld), ...uncovered(lld)];
}

function duplicates(lld: LldDocument): LldFinding[] {
  const seen = new Set<number>();
  return lld.requirements.flatMap(({ number, line }) => {
    if (!seen.has(number)) {
      seen.add(number);
      return [];
    }
    return [
      error(
        'requirement-duplicate',
        line,
        `Requirement ${number} is there twice: number all requirements in one sequence.`,
      ),
    ];
  });
}

function uncovered(lld: LldDocument): LldFinding[] {
  if (lld.scenarios.length === 0) return [];
  const covered = new Set(lld.scenarios.flatMap((scenario) => scenario.requirements));
  return lld.requirements
    .filter(({ number }) => !covered.has(number))
    .map(({ number, text, line }) =>
      error(
        'requirement-uncovered',
        line,
        `No scenario in section 10 covers requirement ${number}, ${quote(text)}: add one that names REQ-${number}.`,
      ),
    );
}
