import type { GateEvidence } from '../core/gate.ts';
import type { LldScenario } from '../governance/lld/scenarios.ts';
import type { TestCase } from '../testing/port.ts';
import { testTitle } from './test-key.ts';

/** Whether a name contains a scenario's id as a number of its own: `010` is in `test_010_empty`, not in `10100`. */
export function namesScenario(name: string, id: string): boolean {
  const digits = /\d+[a-z]?/i.exec(id)?.[0] ?? id;
  const escaped = digits.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  return new RegExp(`(?<![0-9])${escaped}(?![0-9])`, 'i').test(name);
}

export interface ScenarioTests {
  scenarios: readonly LldScenario[];
  /** The tests that were written for this design. */
  tests: readonly TestCase[];
  /** The text of each test file that could not be loaded: which scenarios it has is told by what it says. */
  notLoaded: ReadonlyMap<string, string>;
}

/** How the languages say that a test is not run; of a file that can't be loaded yet, only its text tells. */
const LEFT_OUT = new RegExp(
  [
    String.raw`\b(?:test|it|describe|suite)(?:\.concurrent|\.each)?\.(?:skip|todo|only)\b`,
    String.raw`\bx(?:it|test|describe)\s*\(`,
    String.raw`\{[^}]*\b(?:skip|todo|only):\s*(?!false)`,
    String.raw`@(?:pytest\.mark|unittest)\.skip|\bpytest\.(?:skip|importorskip)\s*\(`,
    String.raw`\bt\.Skip(?:f|Now)?\(`,
    String.raw`#\[ignore\b`,
  ].join('|'),
);

/** Every scenario has a test that names its id, and none is skipped. */
export function scenarioGate({ scenarios, tests, notLoaded }: ScenarioTests): GateEvidence {
  const problems: string[] = [];
  const details: string[] = [];
  for (const { id, scenario } of scenarios) {
    const named = tests.filter((test) => namesScenario(test.name, id));
    const inFiles = [...notLoaded].filter(([, text]) => namesScenario(text, id)).map(([file]) => file);
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
    const line = text.split('\n').findIndex((each) => LEFT_OUT.test(each));
    if (line >= 0) problems.push(`${file} leaves a test out, in line ${line + 1}: no test may be skipped or focused`);
  }
  return {
    gate: 'tests',
    passed: problems.length === 0,
    skipped: null,
    command: null,
    counts: null,
    hash: null,
    details,
    problems,
  };
}
