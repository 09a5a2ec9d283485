import type { LldDocument } from '../document.ts';
import { isGuard, type LldScenario, testNumber } from '../scenarios.ts';
import { error, type LldFinding, quote, warning } from './rule.ts';

/** `scenario-none`, `scenario-id`, `scenario-guards`, `scenario-no-requirement`, `scenario-unknown-requirement`. */
export function checkScenarios(lld: LldDocument): LldFinding[] {
  const section = lld.sections.find(({ id }) => id === '10');
  if (!section) return [];
  if (lld.scenarios.length === 0) {
    const isEmpty = section.nodes.length === 0;
    const form = 'ID, Scenario, Type, Input, Expected Output, Pass Criteria, Requirements';
    return isEmpty
      ? []
      : [
          error(
            'scenario-none',
            lld.scenariosLine ?? section.line,
            `Section 10 has no table of scenarios with rows: add one with the columns ${form}.`,
          ),
        ];
  }
  return [...ids(lld.scenarios), ...guards(lld), ...references(lld)];
}

/** A refactoring may be so: nothing changes that a test could see. */
function guards({ scenarios, scenariosLine }: LldDocument): LldFinding[] {
  if (!scenarios.every(isGuard)) return [];
  const message =
    'Every scenario is a guard, so that no test shows that the change is made: unless nothing changes for its users, add a scenario of type Auto.';
  return [warning('scenario-guards', scenariosLine ?? 0, message)];
}

function ids(scenarios: LldScenario[]): LldFinding[] {
  const seen = new Map<string, number>();
  return scenarios.flatMap(({ id, line }) => {
    if (id === '') return [warning('scenario-id', line, 'A scenario has no id: number them 010, 020, 030 and so on.')];
    const before = seen.get(testNumber(id));
    if (before !== undefined)
      return [error('scenario-id', line, `Scenario ${id} is already in line ${before}: give each one its own id.`)];
    seen.set(testNumber(id), line);
    return /^\d{2,3}0$/.test(id)
      ? []
      : [warning('scenario-id', line, `Scenario id ${quote(id)}: use three digits in steps of ten (010, 020, 030).`)];
  });
}

function references(lld: LldDocument): LldFinding[] {
  if (lld.requirements.length === 0) return [];
  const known = new Set(lld.requirements.map(({ number }) => number));
  return lld.scenarios.flatMap(({ id, requirements, line }) => {
    const name = id === '' ? 'A scenario' : `Scenario ${id}`;
    if (requirements.length === 0) {
      return [
        error(
          'scenario-no-requirement',
          line,
          `${name} names no requirement: say which one of section 3 it covers, such as REQ-1.`,
        ),
      ];
    }
    const unknown = requirements.filter((number) => !known.has(number));
    if (unknown.length === 0) return [];
    const list = unknown.map((number) => `REQ-${number}`).join(', ');
    return [
      error(
        'scenario-unknown-requirement',
        line,
        `${name} names ${list}, which section 3 does not have: correct the number, or add the requirement.`,
      ),
    ];
  });
}
