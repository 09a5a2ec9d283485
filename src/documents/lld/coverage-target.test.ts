import { describe, expect, test } from 'vitest';
import { edited, LLD_42, withSection } from '../../../test/fixtures/lld/lld-42.ts';
import { coverageTargetOf } from './coverage-target.ts';
import { readLld } from './document.ts';

const target = (text: string): number | null => coverageTargetOf(readLld(text));
const inDone = (line: string): number | null =>
  target(withSection('## 12. Definition of Done', `- [ ] Code is written\n- [ ] ${line}`));

const SCENARIOS = `| ID | Scenario | Type | Input | Expected Output | Pass Criteria | Requirements |
|----|----------|------|-------|-----------------|---------------|--------------|
| 010 | Adds the number | Auto | 1 | 43 | Result equals 43 | REQ-1 |`;
const inTesting = (text: string): number | null =>
  target(withSection('## 10. Verification & Testing', `${SCENARIOS}\n\n${text}`));

test('the sample and an empty document ask for none', () => {
  expect([target(LLD_42), target('')]).toEqual([null, null]);
});

describe('what a design demands', () => {
  test.each([
    ['Test coverage ≥ 95 %', 95],
    ['Test coverage ≥95%', 95],
    ['Test coverage >= 95%', 95],
    ['Coverage ≥ 90%', 90],
    ['Coverage of at least 90%', 90],
    ['coverage target: 80%', 80],
    ['**Coverage Target:** 80 %', 80],
    ['Coverage: 85%', 85],
    ['Line coverage is at least 92.5 %', 92.5],
    ['Line coverage of 92,5 %', 92.5],
    ['≥95% line coverage for src/x', 95],
    ['≥95% line coverage for `src/x.ts`', 95],
    ['At least 90 percent test coverage', 90],
    ['90% or higher code coverage', 90],
    ['100% coverage', 100],
    ['100 % statement coverage of the new module', 100],
    ['Unit test coverage > 80%', 80],
    ['The new code reaches a coverage of 90 %.', 90],
    ['Coverage for the new module must be 95% or higher', 95],
    ['Coverage (lines) ≥ 88%', 88],
    ['Coverage must not drop below 85%', 85],
    ['Coverage never falls below 85 %', 85],
    ['Coverage not less than 85 %', 85],
    ['Coverage below 80% fails the build', 80],
    ['The build fails if coverage is < 80%', 80],
    ['Line coverage ≥ 95 %, branch coverage ≥ 80 %', 95],
    ['≥ 70% line coverage, 80% branch coverage', 70],
    ['Line coverage ≥ 70 %, branch coverage ≥ 80 %', 70],
    ['Line coverage ≥ 70 % and branches ≥ 80 %', 70],
    ['Coverage ≥ 90 % and CPU under 99 %', 90],
    ['No lint errors, test coverage ≥ 95 %', 95],
    ['All tests pass without warnings and line coverage is ≥ 90 %', 90],
    ['Existing tests still pass and coverage is at least 90 %', 90],
    ['All requirements are tested, coverage ≥ 95 %', 95],
    ['Total coverage ≥ 85 %', 85],
    ['Coverage ≥ 95 % before the merge', 95],
    ['Coverage ≥ 95 % (not counting generated code)', 95],
    ['Latency < 5 ms, coverage ≥ 90 %', 90],
    ['All scenarios pass with 92 % coverage', 92],
    ['Line and branch coverage ≥ 90%', 90],
    ['Coverage ≥ 80 % overall and 95 % for src/core', 95],
    ['At least 90 % of the changed lines are covered by tests', 90],
    ['`pytest --cov=src --cov-fail-under=93` passes', 93],
    ['REQ-2: test coverage ≥ 91 %', 91],
    ['Tests pass; coverage ≥ 87 %', 87],
  ])('%s', (line, percent) => {
    expect(inDone(line)).toBe(percent);
  });
});

describe('what is no such demand', () => {
  test.each([
    'Requirement coverage: 100%',
    'Requirements coverage ≥ 95%',
    '100% requirement coverage',
    '100% of the requirements are covered',
    'Coverage of all requirements: 100 %',
    'All requirements have 100% test coverage',
    'Scenario coverage: 100%',
    '**Coverage Calculation:** 3 requirements covered / 3 total = **100%**',
    'Coverage: 3/3 = 100%',
    'Acceptance criteria coverage 100%',
    'Branch coverage ≥ 80 %',
    '80% mutation coverage',
    'Coverage is measured',
    'Coverage does not matter',
    'No coverage target of 90% is set',
    '100% coverage is not required',
    "We don't aim for 100 % coverage",
    'Current coverage is 72%',
    'Coverage was 72% before',
    'Coverage increases by 5%',
    'Ideally 100% coverage',
    'Coverage of 140%',
    'Coverage of 0%',
    'CPU stays below 80%',
    'The cache hit rate is 95%',
    '95% of requests take under 1 s',
    'Coverage is reported and 10% of the calls are sampled',
  ])('%s', (line) => {
    expect(inDone(line)).toBeNull();
  });
});

test('of several the highest counts, from the sections on requirements, testing and the definition of done', () => {
  const requirements = edited(
    '1. `item42(1)` returns 43.',
    '1. `item42(1)` returns 43, with line coverage of at least 80 %.',
  );
  expect(target(requirements)).toBe(80);
  expect(target(requirements.replace('- [ ] Both scenarios pass', '- [ ] Test coverage ≥ 90 %'))).toBe(90);
  expect(target(requirements.replace('- [ ] Both scenarios pass', '- [ ] Test coverage ≥ 70 %'))).toBe(80);
});

test('the section on testing may say it in a line, a table or under a heading', () => {
  expect(inTesting('**Test Coverage Target:** ≥ 95 % for all new code')).toBe(95);
  expect(
    inTesting('| Metric | Target |\n|---|---|\n| Line coverage | ≥ 94 % |\n| Requirement coverage | 100 % |'),
  ).toBe(94);
  expect(inTesting('### 10.2 Coverage target\n\nAt least 93 %.')).toBe(93);
  expect(inTesting('### Requirement Coverage\n\nCoverage: 100 %')).toBeNull();
});

test('scenarios, code, and other sections demand nothing', () => {
  const scenario = edited('| 010 | Adds the number | Auto | 1 |', '| 010 | Adds the number | Auto | coverage ≥ 80 % |');
  const code = `${'```'}\ncoverage >= 90%\n${'```'}`;
  const approach = withSection('### 2.6 Technical Approach', 'Test coverage ≥ 95 %.');
  expect([target(scenario), inTesting(code), target(approach)]).toEqual([null, null, null]);
});
