import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { testFolder } from '../support/folder.ts';
import { lldFor, review } from '../support/models.ts';
import { agentos, PROJECT } from '../support/program.ts';
import { expectRefusal } from '../support/refusal.ts';
import { testRepository } from '../support/repository.ts';
import { treeOf } from '../support/tree.ts';

const seed = (number: number): string => join(PROJECT, `test/fixtures/review/seed-00${number}.md`);

const seeds: [number: number, verdict: string, exitCode: number, tiers: number[]][] = [
  [0, 'REVISE', 1, [1, 2, 2, 3, 3]],
  [1, 'REVISE', 1, [1, 2, 2, 3, 3]],
  [2, 'APPROVED', 0, [2, 3, 3, 3]],
  [3, 'REVISE', 1, [2, 2, 3, 3]],
  [4, 'APPROVED', 0, [2, 2, 2, 3, 3]],
];

test('reviews read as what they say, with the findings of each tier and the exit code', async () => {
  const cwd = await testFolder();
  const files = seeds.map(([number]) => seed(number));
  const [all, ...each] = await Promise.all([
    agentos(['check', '--json', ...files], { cwd }),
    ...files.map((file) => agentos(['check', file], { cwd })),
  ]);
  expect(all).toMatchObject({ code: 1, stderr: '' });
  const entries = JSON.parse(all.stdout);
  for (const [at, [number, verdict, exitCode, tiers]] of seeds.entries()) {
    const entry = entries[at];
    expect(entry).toMatchObject({ file: seed(number), kind: 'review', verdict, problems: [] });
    expect(entry.findings.map((finding: { tier: number }) => finding.tier)).toEqual(tiers);
    for (const finding of entry.findings) expect(Object.keys(finding).sort()).toEqual(['area', 'text', 'tier']);
    expect(each[at]).toMatchObject({ code: exitCode, stderr: '' });
    expect(each[at]?.stdout).toContain(`review  ${verdict}\n`);
  }
});

test('the review with a coverage table shows it, with the questions that were resolved', async () => {
  const { stdout } = await agentos(['check', seed(3)], { cwd: await testFolder() });
  expect(stdout).toContain('Coverage: 8/8 = 100 %');
  expect(stdout.match(/^ {2}Resolved: /gm)).toHaveLength(2);
  expect(stdout).toMatch(/^ {2}Tier 2 Architecture: Code Duplication/m);
});

test('an LLD is checked anywhere; inside a repository its paths are looked up too', async () => {
  const folder = await testFolder();
  const text = lldFor('42').replace('| Add |', '| Modify |');
  await writeFile(join(folder, 'LLD.md'), text);
  const outside = await agentos(['check', 'LLD.md'], { cwd: folder });
  expect(outside).toMatchObject({ code: 0, stderr: '' });
  expect(outside.stdout).toContain('LLD.md  LLD  0 error(s)');
  expect(outside.stdout).toContain('Paths were not looked up');
  expect(outside.stdout).toContain('2 requirements covered / 2 total = **100%**');

  const repository = await testRepository({});
  await repository.write('docs/LLD.md', text);
  const file = join(repository.root, 'docs/LLD.md');
  const around = await agentos(['check', '--json', file], { cwd: folder });
  const named = await agentos(['check', '--json', '--repo', repository.root, 'LLD.md'], { cwd: folder });
  for (const { code, stdout } of [around, named]) {
    expect(code).toBe(1);
    const [entry] = JSON.parse(stdout);
    expect(entry).toMatchObject({ kind: 'lld', pathsChecked: true, coverage: { covered: 2, total: 2, percent: 100 } });
    expect(entry.findings).toContainEqual({
      rule: expect.any(String),
      severity: 'error',
      line: expect.any(Number),
      message: expect.stringContaining('src/'),
    });
  }
  expectRefusal(await agentos(['check', '--repo', folder, file], { cwd: folder }), 'not inside a git', '--repo <dir>');
});

test('several files at once: one entry for each, in the order given, and the worst decides', async () => {
  const cwd = await testFolder();
  await writeFile(join(cwd, 'empty.md'), ' \n');
  await writeFile(join(cwd, 'binary.md'), Uint8Array.of(0x23, 0x00, 0xff, 0xfe));
  await writeFile(join(cwd, 'readme.md'), '# Hello\n\nNothing of the kind.\n');
  await writeFile(join(cwd, 'approved.md'), review({ verdict: 'APPROVED' }));
  await writeFile(join(cwd, 'lld.md'), lldFor('42'));
  await mkdir(join(cwd, 'folder'));
  const before = await treeOf(cwd);
  const files = [
    'approved.md',
    'missing.md',
    'lld.md',
    'folder',
    'empty.md',
    'binary.md',
    'readme.md',
    'a\nb\u001B[31m',
  ];
  const run = (...args: string[]): ReturnType<typeof agentos> => agentos(['check', ...args], { cwd });
  const [all, people, good, neither] = await Promise.all([
    run('--json', ...files),
    run(...files),
    run('approved.md', 'lld.md'),
    run('approved.md', 'readme.md', '--json'),
  ]);
  expect([all?.code, people?.code, good?.code, neither?.code]).toEqual([2, 2, 0, 1]);
  const entries: { file: string; kind: string; error?: string }[] = JSON.parse(all?.stdout ?? '');
  expect(entries.map((entry) => entry.file)).toEqual(files);
  const unknown = entries.filter((entry) => entry.kind === 'unknown').map((entry) => entry.error);
  expect(unknown).toEqual([
    'missing.md does not exist',
    'folder is a folder',
    'empty.md is empty',
    'binary.md is not UTF-8 text',
    'readme.md is neither an LLD nor a review',
    'a\nb\u001B[31m does not exist',
  ]);
  expect(people?.stdout).toContain('missing.md does not exist\n  Name a file that exists');
  expect(people?.stdout).toContain('a b[31m does not exist\n');
  expect(people?.stdout).not.toContain('\u001B');
  expect(await treeOf(cwd)).toEqual(before);
});

test('an approval that contradicts itself is no approval', async () => {
  const cwd = await testFolder();
  await writeFile(join(cwd, 'review.md'), review({ verdict: 'APPROVED', tier1: ['**Open:** It never ends.'] }));
  const [people, json] = await Promise.all([
    agentos(['check', 'review.md'], { cwd }),
    agentos(['check', 'review.md', '--json'], { cwd }),
  ]);
  expect([people?.code, json?.code]).toEqual([1, 1]);
  expect(people?.stdout).toMatch(/^ {2}problem {2}/m);
  const [entry] = JSON.parse(json?.stdout ?? '');
  expect(entry).toMatchObject({ kind: 'review', verdict: 'APPROVED', trustworthy: false });
  expect(entry.problems).toHaveLength(1);
});
