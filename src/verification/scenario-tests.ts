import type { GateEvidence } from '../core/gate.ts';
import { type LldScenario, namesScenario } from '../documents/lld/scenarios.ts';
import type { TestCase } from '../testing/port.ts';
import { skippedTestLine, withoutComments } from './skipped-tests.ts';
import { evidenceOf, testTitle } from './test-key.ts';

/** The scenarios whose ids a test's name contains. */
export function scenariosOf(test: Pick<TestCase, 'name'>, scenarios: readonly LldScenario[]): LldScenario[] {
  return scenarios.filter(({ id }) => namesScenario(test.name, id));
}

/** Whether all scenarios of a test are guards, so that it must pass both before and after the code. */
export function isForGuards(
  test: Pick<TestCase, 'name'>,
  scenarios: readonly LldScenario[],
  guards: ReadonlySet<string>,
): boolean {
  const named = scenariosOf(test, scenarios);
  return named.length > 0 && named.every(({ id }) => guards.has(id));
}

/**
 * Skipped tests that should have run. A variant that can't run here (another system, a missing extension) may be skipped if
 * another test of the same scenario runs.
 */
export function wronglySkipped(tests: readonly TestCase[], scenarios: readonly LldScenario[]): TestCase[] {
  const ran = tests.filter((test) => test.outcome !== 'skipped');
  return tests.filter((test) => {
    if (test.outcome !== 'skipped') return false;
    const named = scenariosOf(test, scenarios);
    return named.length === 0 || !named.every(({ id }) => ran.some(({ name }) => namesScenario(name, id)));
  });
}

export interface ScenarioTests {
  scenarios: readonly LldScenario[];
  /** The tests that were written for this design. */
  tests: readonly TestCase[];
  /** The texts of test files that could not be loaded: scenario ids are searched in the source. */
  notLoaded: ReadonlyMap<string, string>;
}

/** Every scenario must have a test whose name contains its id, and none may be skipped. */
export function scenarioGate({ scenarios, tests, notLoaded }: ScenarioTests): GateEvidence {
  const problems: string[] = [];
  const details: string[] = [];
  const said = [...notLoaded].map(([file, text]) => ({ file, text: withoutComments(file, text).text }));
  for (const { id, scenario } of scenarios) {
    const named = tests.filter((test) => namesScenario(test.name, id));
    const inFiles = said.filter(({ text }) => namesScenario(text, id)).map(({ file }) => file);
    const skipped = named.filter((test) => test.outcome === 'skipped');
    if (named.length === 0 && inFiles.length === 0) {
      problems.push(`scenario ${id} (${scenario}) has no test: no new test's name contains ${id}`);
    } else if (named.length > 0 && skipped.length === named.length) {
      problems.push(`the test of scenario ${id} is skipped: ${skipped.map(testTitle).join(', ')}`);
    } else {
      details.push(`${id}: ${named.length > 0 ? named.map(testTitle).join(', ') : inFiles.join(', ')}`);
    }
  }
  for (const [file, text] of notLoaded) {
    const line = skippedTestLine(file, text);
    if (line !== null) problems.push(`${file} leaves a test out, in line ${line}: no test may be skipped or focused`);
  }
  return evidenceOf('tests', null, { summary: `every scenario has a test (${scenarios.length})`, details, problems });
}
