import type { LldDocument } from '../document.ts';
import { error, type LldFinding, quote } from './rule.ts';
import { isVague } from './vague-phrases.ts';

const RULE = 'pass-criteria-vague';

export function checkPassCriteria(lld: LldDocument): LldFinding[] {
  if (lld.scenarios.length === 0) return [];
  if (!lld.hasPassColumn) {
    return [
      error(
        RULE,
        lld.scenariosLine ?? 1,
        'The table of scenarios has no column "Pass Criteria": add it, with a condition that a program can check in each row.',
      ),
    ];
  }
  return lld.scenarios.flatMap(({ id, pass, expected, line }) => {
    if (!isVague(pass, expected)) return [];
    const what = pass === '' ? 'are empty' : `${quote(pass)} cannot be checked by a program`;
    return [
      error(
        RULE,
        line,
        `The pass criteria of scenario ${id} ${what}: name the value, message, state or exit code that decides.`,
      ),
    ];
  });
}
