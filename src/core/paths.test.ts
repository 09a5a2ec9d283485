import { expect, test } from 'vitest';
import { parseItemId } from './ids.ts';
import { baseDirectory, isInside, labelOf, pathsOf } from './paths.ts';

test('state is in the repository unless another folder is chosen', () => {
  expect(baseDirectory('/r', null, '/r/sub')).toBe('/r/.agentos');
  expect(baseDirectory('/r', 'state', '/r/sub')).toBe('/r/sub/state');
  expect(baseDirectory('/r', '/r/..state', '/')).toBe('/r/..state');
});

test.each(['', '.', '/r', '/r/', '/r/a/..'])(
  'the repository itself (%j) is never the state folder: its .gitignore would hide the user’s files',
  (chosen) => {
    expect(baseDirectory('/r', chosen, '/r')).toBe('/r/.agentos');
  },
);

test('a folder outside has a subfolder for each repository, also for those of the same name', () => {
  const one = baseDirectory('/a/my repö', '/state', '/a');
  const two = baseDirectory('/b/my repö', '/state', '/a');
  expect(one).toMatch(/^\/state\/my_rep_-[0-9a-f]{12}$/);
  expect(two).toMatch(/^\/state\/my_rep_-[0-9a-f]{12}$/);
  expect(one).not.toBe(two);
  expect(baseDirectory('/a/my repö', '../state', '/a')).toBe(one);
});

test('inside is the folder itself and what is below it, not what only begins like it', () => {
  expect(isInside('/r', '/r')).toBe(true);
  expect(isInside('/r', '/r/a/b')).toBe(true);
  expect(isInside('/r', '/r/..a')).toBe(true);
  expect(isInside('/r', '/rr')).toBe(false);
  expect(isInside('/r', '/')).toBe(false);
  expect(isInside('/r', '/r/../x')).toBe(false);
});

test('every path is in the repository or in the base folder, under the name that the contract gives it', () => {
  const id = parseItemId('42');
  const paths = pathsOf('/r', '/s');
  expect(paths.issue(id)).toBe('/r/issues/42.md');
  expect(paths.lld(id)).toBe('/r/docs/lld/LLD-42.md');
  expect(paths.lineage(id)).toBe('/r/docs/lineage/42');
  expect(paths.checkpoint('lld', id)).toBe('/s/checkpoints/lld-42.db');
  expect(paths.run('r1').log('lld', id)).toBe('/s/runs/r1/logs/lld-42.log');
  expect(paths.run('r1').audit('lld', id)).toBe('/s/runs/r1/audit/lld-42.jsonl');
  expect(labelOf('lld', id)).toBe('LLD-42');
});
