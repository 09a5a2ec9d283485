import { expect, test } from 'vitest';
import { parseGoProfile, parseLcov } from './report.ts';

const pathInWorktree = (path: string): string | null =>
  path.startsWith('/w/') ? path.slice(3) : path.startsWith('/') ? null : path;

test('lcov: a line that one of several records went through is covered', () => {
  const text = `TN:
SF:/w/src/a.js
FN:1,a
DA:1,2
DA:2,0
DA:10,0
end_of_record
SF:src/a.js
DA:2,1
end_of_record
SF:/elsewhere/b.js
DA:1,1
end_of_record
SF:node_modules/x/i.js
DA:1,1
end_of_record
SF:src/empty.js
end_of_record`;
  expect(parseLcov(text, pathInWorktree)).toEqual([
    { file: 'src/a.js', lines: 3, covered: 2, missed: [10] },
    { file: 'src/empty.js', lines: 0, covered: 0, missed: [] },
  ]);
});

test("Go's profile: blocks become lines, packages become files of the module", () => {
  const text = `mode: set
example.com/m/good/good.go:3.24,4.12 1 1
example.com/m/good/good.go:7.2,7.14 1 1
example.com/m/good/good.go:4.12,6.3 1 0
mode: set
example.com/m/good/good.go:7.2,7.14 1 0
example.com/other/x.go:1.1,2.2 1 1`;
  expect(parseGoProfile(text, 'example.com/m')).toEqual([
    { file: 'good/good.go', lines: 5, covered: 3, missed: [5, 6] },
  ]);
});
