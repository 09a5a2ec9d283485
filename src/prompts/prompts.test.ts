import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { codeOf } from '../core/errors.ts';
import { createPrompts, PROMPT_NAMES } from './prompts.ts';

const FOLDER = fileURLToPath(new URL('./', import.meta.url));
const WORDED = PROMPT_NAMES.filter((name) => !name.endsWith('-template'));

test.each(WORDED)('%s uses only what it is given, and may be brought by a repository as it stands', (name) => {
  const file = `${name}.md`;
  const prompts = createPrompts(new Map([[name, { file, text: readFileSync(`${FOLDER}${file}`, 'utf8') }]]));
  expect(prompts.fill(name)).not.toMatch(/\{\{/);
  expect(prompts.fill(name)).toBe(createPrompts(new Map()).fill(name));
});

test('a placeholder that a prompt is not given is refused', () => {
  const overrides = new Map([['write-again' as const, { file: 'write-again.md', text: 'Again: {{scenarios}}' }]]);
  expect(() => createPrompts(overrides)).toThrow(
    expect.toSatisfy((error) => codeOf(error) === 'prompt-invalid' && String(error).includes('{{failures}}')),
  );
});

test('what is filled in is not filled in again', () => {
  const prompts = createPrompts(new Map());
  expect(prompts.fill('write-again', { failures: 'expected {{id}}' })).toContain('expected {{id}}');
});
