import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import { Secret } from './secret.ts';

test('a secret prints as a placeholder everywhere but where it is revealed', () => {
  const secret = new Secret('hunter2-hunter2');
  const everywhere = [
    String(secret),
    JSON.stringify({ secret }),
    inspect({ secret }, { showHidden: true }),
    Object.values(secret).join(),
  ].join('\n');
  expect(everywhere).not.toContain('hunter2');
  expect(everywhere).toContain('[secret]');
  expect(secret.reveal()).toBe('hunter2-hunter2');
});
