import { expect, test } from 'vitest';
import { LLD_42 } from '../../../test/fixtures/lld/lld-42.ts';
import { bodyHash, readFrontMatter, writeFrontMatter } from '../lld/front-matter.ts';
import { implementedHashOf, implementedLld } from './implemented-lld.ts';

const BODY = LLD_42.replace('* **Status:** Draft', '* **Status:** Approved');
const APPROVED = writeFrontMatter(BODY, {
  issue: 42,
  title: 'Sample: change',
  status: 'approved',
  reviewer: 'google:x',
  bodyHash: bodyHash(BODY),
  tags: ['a', { b: 1 }],
  padded: '007',
});
const FACTS = { branch: 'agentos/42-sample', report: 'docs/reports/42.md' };

test('the LLD says what was approved, where it is implemented, and that its body is as it was written', () => {
  const { fields, body } = readFrontMatter(implementedLld(APPROVED, FACTS));
  expect(body).toBe(BODY.replace('Approved', 'Implemented'));
  expect(Object.entries(fields)).toEqual([
    ['issue', 42],
    ['title', 'Sample: change'],
    ['status', 'implemented'],
    ['reviewer', 'google:x'],
    ['bodyHash', bodyHash(body)],
    ['tags', ['a', { b: 1 }]],
    ['padded', '007'],
    ['implementedHash', bodyHash(BODY)],
    ['branch', 'agentos/42-sample'],
    ['report', 'docs/reports/42.md'],
  ]);
});

test('the approved hash is read back, and doing it again keeps it', () => {
  const once = implementedLld(APPROVED, FACTS);
  expect(implementedHashOf(once)).toBe(bodyHash(BODY));
  expect(implementedLld(once, FACTS)).toBe(once);
  expect(implementedHashOf(once.replaceAll('\n', '\r\n'))).toBe(bodyHash(BODY));
});

test('a body that was edited since is another design', () => {
  const edited = implementedLld(APPROVED, FACTS).replace('no state.', 'some state.');
  const again = implementedLld(edited, FACTS);
  expect(implementedHashOf(again)).toBe(bodyHash(readFrontMatter(edited).body));
  expect(implementedHashOf(again)).not.toBe(bodyHash(BODY));
});

test.each([
  ['an approved LLD', APPROVED],
  ['one that was approved anew', implementedLld(APPROVED, FACTS).replace('status: implemented', 'status: approved')],
  ['one without front matter', LLD_42],
  ['nothing', ''],
])('%s is not implemented', (_, text) => {
  expect(implementedHashOf(text)).toBeNull();
});
