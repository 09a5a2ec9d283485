import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import { reviewerSaying } from '../implement.ts';
import { agentos } from '../program.ts';
import { implementerWriting, languageRepository, toolchainEnv } from './repository.ts';
import type { LanguageSample } from './sample.ts';

const BRANCH = 'agentos/42-add-a-number';

/**
 * Tests that fail for another reason than the missing code are refused, and the right ones lead to a branch. Returns the
 * program's exit code.
 */
export async function goTheWholeWay(sample: LanguageSample, env: Record<string, string> = {}): Promise<number | null> {
  const repository = await languageRepository(sample);
  const { wrong, tests, code } = sample;
  const implementer = await implementerWriting(repository, { tests: [wrong, tests], code: [code] });
  const reviewer = await reviewerSaying(repository, 'APPROVED');
  const before = repository.git('status', '--porcelain', '--ignored', '--untracked-files=all');
  const ended = await agentos(
    ['implement', '42', '--trust', '--max-retries', '0', '--implementer', implementer, '--reviewer', reviewer],
    { cwd: repository.root, env: { ...toolchainEnv(), ...env, HOME: repository.home } },
  );
  expect(ended.stdout).toMatch(sample.refusal);
  expect(ended.stdout).toContain('again without the code');

  const filesOf = (commit: string): string[] =>
    repository.git('show', '--format=', '--name-only', commit).split('\n').sort();
  expect(filesOf(`${BRANCH}~2`)).toEqual(Object.keys(tests).sort());
  expect(filesOf(`${BRANCH}~1`)).toEqual(Object.keys(code).sort());
  expect(filesOf(BRANCH)).toEqual(['docs/reports/42.lld.md', 'docs/reports/42.md']);
  for (const [path, text] of Object.entries({ ...tests, ...code }))
    expect(repository.git('show', `${BRANCH}:${path}`)).toBe(text.trim());

  const report = repository.git('show', `${BRANCH}:docs/reports/42.md`);
  for (const gate of ['tests', 'red', 'frozen', 'green', 'reverse']) expect(report).toContain(`| ${gate} | holds |`);
  expect(report).toContain(`\`${sample.command}\``);
  expect(report).toMatch(
    sample.isMeasured
      ? /\| coverage \| holds \|[^]*\| all \|.*\| 100 % \|/
      : /\| coverage \| not checked: no target \|/,
  );

  const after = repository.git('status', '--porcelain', '--ignored', '--untracked-files=all');
  expect(after.split('\n').filter((line) => !line.includes('.agentos'))).toEqual(before.split('\n'));
  expect(await repository.list(join(repository.work, 'worktrees'))).toEqual([]);
  expect(await readdir(repository.home)).toEqual([]);
  return ended.code;
}
