import { sha256 } from '../../src/core/hash.ts';
import { emptyLedger } from '../../src/documents/ledger.ts';
import { writeReport } from '../../src/verification/report.ts';
import { commitProject } from './implement.ts';
import { type TestRepository, testRepository } from './repository.ts';

export interface BranchOptions {
  /** By path; null: the file is deleted. */
  files: Record<string, string | null>;
  title?: string;
  /** What it begins at; default: main. */
  on?: string;
  /** Names of the tests that its report lists. */
  tests?: string[];
  /** Ids that its design builds on. */
  dependsOn?: string[];
  /** Its test files, frozen. */
  branch?: string;
}

/** A repository whose tests really run, without any item. */
export async function projectRepository(): Promise<TestRepository> {
  const repository = await testRepository({}, { commit: false });
  await commitProject(repository);
  return repository;
}

/** A finished branch, as an implementation leaves it: the change, and a report of it. The checkout stays as it was. */
export async function finishedBranch(
  repository: TestRepository,
  id: string,
  {
    files,
    title = `Item ${id}`,
    on = 'main',
    tests = [],
    dependsOn = [],
    branch = `agentos/${id}-item`,
  }: BranchOptions,
): Promise<string> {
  const before = repository.git('rev-parse', '--abbrev-ref', 'HEAD');
  repository.git('switch', '--quiet', '-c', branch, on);
  for (const [path, text] of Object.entries(files)) {
    if (text === null) repository.git('rm', '--quiet', path);
    else await repository.write(path, text);
  }
  const design = `# ${id} - Feature: ${title}\n\n## 1. Context & Goal\n\n* **Depends on:** ${dependsOn.map((other) => `#${other}`).join(', ') || 'None'}\n`;
  await repository.write(`docs/reports/${id}.lld.md`, design);
  await repository.write(`docs/reports/${id}.md`, reportOf(id, title, branch, tests));
  repository.git('add', '--all', '--', ...Object.keys(files).filter((path) => files[path] !== null), 'docs/reports');
  repository.git('commit', '--quiet', '-m', title);
  repository.git('switch', '--quiet', before);
  return branch;
}

function reportOf(id: string, title: string, branch: string, tests: readonly string[]): string {
  return writeReport({
    id,
    title,
    design: `docs/reports/${id}.lld.md`,
    lldHash: sha256(id),
    branch,
    baseCommit: '0'.repeat(40),
    testsCommit: '1'.repeat(40),
    codeCommit: '2'.repeat(40),
    implementer: 'command:x',
    reviewer: 'command:y',
    policy: 'strict',
    changes: [],
    gates: [
      {
        gate: 'tests',
        passed: true,
        skipped: null,
        command: null,
        counts: null,
        hash: null,
        summary: '',
        details: [],
        problems: [],
      },
    ],
    scenarios: tests.map((name, at) => ({ id: `${at + 1}0`, scenario: name, isGuard: false, tests: [name] })),
    frozen: [],
    coverage: { target: null, files: null },
    review: { rounds: 1, verdict: 'APPROVED', ledger: emptyLedger },
    notices: [],
    spending: [],
  });
}

/** A module with one function, and a test of it. */
export function moduleWithTest(id: string, value = id): Record<string, string> {
  return {
    [`src/item-${id}.js`]: `export const item${id} = () => ${value};\n`,
    [`test/item-${id}.test.js`]: testOf(
      `item ${id}`,
      `import { item${id} } from '../src/item-${id}.js';`,
      `item${id}()`,
      id,
    ),
  };
}

export function testOf(name: string, imports: string, actual: string, expected: string): string {
  return `import assert from 'node:assert/strict';\nimport { test } from 'node:test';\n${imports}\n\ntest('${name}', () => assert.equal(${actual}, ${expected}));\n`;
}
