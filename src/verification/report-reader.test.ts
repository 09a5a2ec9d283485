import fc from 'fast-check';
import { expect, test } from 'vitest';
import { asCode, oneLine, tableOf } from '../markdown/writer.ts';
import { provenTests, reportedGates } from './report-reader.ts';

const table = (rows: string[][]): string => `# Report\n\n${tableOf(['Scenario', 'What', 'Type', 'Tests'], rows)}\n`;

test('the tests of every scenario are read, guards marked, and no other table is taken for it', () => {
  const report = `${table([
    ['010', 'Adds', 'Auto', `${asCode('suite > 010 adds')}<br>${asCode('010 adds more')}`],
    ['020', 'Stays', 'Guard', asCode('020 stays')],
    ['030', 'None', 'Auto', ''],
  ])}\n| Gate | Type | Tests |\n|---|---|---|\n| red | x | y |\n`;
  expect(provenTests(report)).toEqual([
    { name: 'suite > 010 adds', isGuard: false },
    { name: '010 adds more', isGuard: false },
    { name: '020 stays', isGuard: true },
  ]);
});

const NAMES = 'aZ09éß ,.:;\'()/?+-#*_`[]<&!~|\\\n"$'.split('');

test('a name is read as it was written, whatever is in it', () => {
  const names = fc.string({ unit: fc.constantFrom(...NAMES), minLength: 1, maxLength: 16 });
  fc.assert(
    fc.property(names, (name) => {
      const written = oneLine(name);
      fc.pre(/[a-zA-Z0-9]/.test(written) && !/<br/i.test(written));
      expect(provenTests(table([['010', 'What', 'Auto', asCode(name)]]))).toEqual([{ name: written, isGuard: false }]);
    }),
  );
});

test.each([
  ['| red | holds | | | |\n| green | holds | | | |', true, 'holds: red, green'],
  ['| red | holds | | | |\n| green | **fails** | | | |', false, 'fails: green'],
  ['| red | not checked: x | | | |', false, 'holds: no gate was checked'],
])('evidence of %j', (rows, passed, summary) => {
  const report = `# R\n\n## Gates\n\n| Gate | Result | Command | Counts | Hash |\n|---|---|---|---|---|\n${rows}\n\n## Coverage\n\nNo.\n`;
  expect(reportedGates(report)).toMatchObject({ passed, summary });
  expect(reportedGates('')).toMatchObject({ passed: false });
});
