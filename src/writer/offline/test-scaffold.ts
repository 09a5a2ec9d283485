import { readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { readLld } from '../../governance/lld/document.ts';
import type { LldFile } from '../../governance/lld/files-table.ts';
import { isTestPath } from '../../provider/offline/issue-files.ts';
import { extensionOf } from '../../provider/offline/module-path.ts';
import { testPathFor } from '../../provider/offline/test-path.ts';
import type { WritingMaterial } from '../port.ts';
import { goTests, javascriptTests, pythonTests, type ScaffoldedTest } from './test-languages.ts';
import { readWorktreeFile } from './worktree-file.ts';

const LANGUAGES = new Map<string, 'javascript' | 'python' | 'go'>([
  ...['js', 'mjs', 'cjs', 'jsx', 'ts', 'mts', 'cts', 'tsx'].map((extension) => [extension, 'javascript'] as const),
  ['py', 'python'],
  ['go', 'go'],
]);

/** One failing test for each scenario of the design, in a file of its own; null for a language that no rule is here for. */
export async function scaffoldTests(
  worktree: string,
  { lld, issue }: WritingMaterial,
): Promise<{ path: string; text: string } | null> {
  const { files, scenarios } = readLld(lld);
  const planned = plannedTest(files);
  const language = LANGUAGES.get(extensionOf(planned));
  if (language === undefined || scenarios.length === 0) return null;
  // Nobody's tests are added to: what they import and how they are put together is not for a rule to guess.
  const isTaken = (await readWorktreeFile(worktree, planned)) !== null;
  const path = isTaken ? ownPath(planned, issue) : planned;
  const tests = scenarios.map(({ id, scenario, input, expected, pass }): ScaffoldedTest => {
    const details = [`Input: ${input}`, `Expected: ${expected}`, `Passes when: ${pass}`];
    return { id, scenario: oneLine(scenario), details: details.filter((line) => !line.endsWith(': ')).map(oneLine) };
  });
  switch (language) {
    case 'javascript':
      return { path, text: javascriptTests(tests, await javascriptPrelude(worktree, path)) };
    case 'python':
      return { path, text: pythonTests(tests) };
    case 'go':
      return { path, text: goTests(tests, await goPackage(worktree, dirname(path))) };
  }
}

/** The design's own test file if it lists one, else where the test of its first source file would stand. */
function plannedTest(files: readonly LldFile[]): string {
  const kept = files.filter(({ change, path }) => change !== 'Delete' && LANGUAGES.has(extensionOf(path)));
  const tests = kept.filter(({ path }) => isTestPath(path));
  const test = tests.find(({ change }) => change === 'Add') ?? tests[0];
  const source = kept[0]?.path;
  if (test) return test.path;
  const all = files.map(({ path }) => path);
  return source === undefined ? '' : testPathFor(source, all);
}

function ownPath(planned: string, issue: string): string {
  const slash = planned.lastIndexOf('/') + 1;
  const extension = extensionOf(planned);
  const stem = `issue-${issue.toLowerCase()}-scenarios`;
  const name =
    extension === 'py'
      ? `test_${stem.replaceAll('-', '_')}.py`
      : extension === 'go'
        ? `${stem.replaceAll('-', '_')}_test.go`
        : `${stem}.test.${extension}`;
  return `${planned.slice(0, slash)}${name}`;
}

/** How a test file of this package gets at `test`: jest has it in every file, the others are imported. */
async function javascriptPrelude(worktree: string, path: string): Promise<string> {
  const manifest = await nearestManifest(worktree, dirname(path));
  if (/\bvitest\b/.test(manifest)) return "import { test } from 'vitest';";
  if (/\bjest\b/.test(manifest)) return '';
  const isModule = /"type"\s*:\s*"module"/.test(manifest) || /\.(?:mjs|[mc]?tsx?)$/.test(path);
  return isModule ? "import { test } from 'node:test';" : "const { test } = require('node:test');";
}

async function nearestManifest(worktree: string, folder: string): Promise<string> {
  const path = folder === '.' ? 'package.json' : `${folder}/package.json`;
  const text = await readWorktreeFile(worktree, path);
  if (text !== null || folder === '.') return text ?? '';
  return nearestManifest(worktree, dirname(folder));
}

async function goPackage(worktree: string, folder: string): Promise<string> {
  const names = await readdir(join(worktree, folder)).catch(() => [] as string[]);
  for (const name of names.filter((entry) => entry.endsWith('.go'))) {
    const text = await readWorktreeFile(worktree, folder === '.' ? name : `${folder}/${name}`);
    const [, found] = /^package\s+(\w+?)(?:_test)?\s*(?:\/\/.*)?$/m.exec(text ?? '') ?? [];
    if (found !== undefined) return found;
  }
  const last = folder.slice(folder.lastIndexOf('/') + 1).replace(/\W/g, '');
  return /^[A-Za-z_]/.test(last) ? last : 'main';
}

function oneLine(text: string): string {
  return text
    .toWellFormed()
    .replace(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .trim();
}
