import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { createMask, MASK } from '../core/mask.ts';
import { Secret } from '../core/secret.ts';
import { createTokens } from '../gateway/server.ts';
import { maskSpan } from './exporter.ts';
import { openSpan } from './span.ts';

test('no key and no token of a worker is left in any text of a span', () => {
  const key = randomBytes(12).toString('hex');
  const token = createTokens().issue({ item: 'a' });
  const span = openSpan({ closed: () => undefined, content: true }, { traceId: 'a', spanId: null }, `git ${key}`, {
    attributes: { text: `${key} and ${token}`, list: ['plain', token], count: 3 },
  });
  span.event('said', { what: `Bearer ${token}` });
  span.end({ problem: { code: 'internal', detail: `refused ${key}` }, retry: 'permanent' });
  const masked = maskSpan(span.record, createMask([new Secret(key)]));
  for (const secret of [key, token]) expect(JSON.stringify(masked)).not.toContain(secret);
  expect(masked.attributes).toEqual({
    text: `${MASK} and ${MASK}`,
    list: ['plain', MASK],
    count: 3,
    'error.type': 'internal',
  });
  expect(masked).toMatchObject({ name: `git ${MASK}`, message: `refused ${MASK}` });
});
