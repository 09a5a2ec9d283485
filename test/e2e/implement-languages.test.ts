import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { reviewerSaying } from '../support/implement.ts';
import { goChangedFile, goNewPackage } from '../support/languages/go.ts';
import { commonJs, withoutPackageJson } from '../support/languages/javascript.ts';
import { pytestFlat, pytestInSrc } from '../support/languages/python.ts';
import { implementerWriting, languageRepository, missingFor, toolchainEnv } from '../support/languages/repository.ts';
import { rust } from '../support/languages/rust.ts';
import type { LanguageSample } from '../support/languages/sample.ts';
import { shellJunit, shellTap } from '../support/languages/shell.ts';
import { nodeTypes, vitest } from '../support/languages/typescript.ts';
import { agentos } from '../support/program.ts';

const SAMPLES: readonly LanguageSample[] = [
  commonJs,
  withoutPackageJson,
  nodeTypes,
  vitest,
  pytestFlat,
  pytestInSrc,
  goNewPackage,
  goChangedFile,
  rust,
  shellTap,
  shellJunit,
];
const BRANCH = 'agentos/42-add-a-number';

/** Go compiles its own libraries into it once; a variable of the user's that says where it is stays in force. */
let goCache = '';
beforeAll(async () => {
  goCache = await mkdtemp(join(tmpdir(), 'agentos-go-'));
});
afterAll(() => rm(goCache, { recursive: true }));

for (const sample of SAMPLES) {
  const missing = missingFor(sample);
  const note = missing === null ? '' : ` (skipped: ${missing} does not work here)`;
  test.skipIf(missing !== null)(
    `${sample.name}: tests that fail for another reason than the missing code are refused; the right ones lead to a branch${note}`,
    async () => {
      const repository = await languageRepository(sample);
      const { wrong, tests, code } = sample;
      const implementer = await implementerWriting(repository, { tests: [wrong, tests], code: [code] });
      const reviewer = await reviewerSaying(repository, 'APPROVED');
      const before = repository.git('status', '--porcelain', '--ignored', '--untracked-files=all');
      const ended = await agentos(
        ['implement', '42', '--trust', '--max-retries', '0', '--implementer', implementer, '--reviewer', reviewer],
        { cwd: repository.root, env: { ...toolchainEnv(), GOCACHE: goCache, HOME: repository.home } },
      );
      expect(ended.stdout).toMatch(sample.refusal);
      expect(ended.stdout).toContain('again without the code');
      expect(ended.code).toBe(0);

      const filesOf = (commit: string): string[] =>
        repository.git('show', '--format=', '--name-only', commit).split('\n').sort();
      expect(filesOf(`${BRANCH}~2`)).toEqual(Object.keys(tests).sort());
      expect(filesOf(`${BRANCH}~1`)).toEqual(Object.keys(code).sort());
      expect(filesOf(BRANCH)).toEqual(['docs/reports/42.lld.md', 'docs/reports/42.md']);
      for (const [path, text] of Object.entries({ ...tests, ...code }))
        expect(repository.git('show', `${BRANCH}:${path}`)).toBe(text.trim());

      const report = repository.git('show', `${BRANCH}:docs/reports/42.md`);
      for (const gate of ['tests', 'red', 'frozen', 'green', 'reverse'])
        expect(report).toContain(`| ${gate} | holds |`);
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
    },
    120_000,
  );
}
