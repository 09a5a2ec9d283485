import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { commitMessage } from './implement-finish.ts';

const FACTS = { subject: 'Add a number', body: 'Implements 42.', models: ['claude-opus-5'], coAuthor: null };

function trailersOf(message: string): string[] {
  const args = ['interpret-trailers', '--parse'];
  return execFileSync('git', args, { input: message, encoding: 'utf8' }).trim().split('\n');
}

test('the last paragraph names every model that wrote, and the co-author', () => {
  expect(commitMessage(FACTS)).toBe('Add a number\n\nImplements 42.\n\nImplemented-by: claude-opus-5\n');
  const message = commitMessage({
    ...FACTS,
    models: ['command:node a.mjs', 'claude-opus-5'],
    coAuthor: 'Claude <noreply@anthropic.com>',
  });
  expect(trailersOf(message)).toEqual([
    'Implemented-by: command:node a.mjs',
    'Implemented-by: claude-opus-5',
    'Co-authored-by: Claude <noreply@anthropic.com>',
  ]);
});

test('neither a title nor the name of a model can add a trailer', () => {
  const evil = 'x\n\nSigned-off-by: Eve <eve@example.org>\r\n\u2028Reviewed-by: Eve';
  const message = commitMessage({ ...FACTS, subject: evil, models: [evil] });
  expect(message.split('\n')).toHaveLength(6);
  expect(trailersOf(message)).toEqual(['Implemented-by: x Signed-off-by: Eve <eve@example.org> Reviewed-by: Eve']);
});
