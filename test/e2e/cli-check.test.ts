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
  expect(all?.stdout).not.toContain('"failure"');
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
  expect(people?.stdout).toContain('a b does not exist\n');
  expect(people?.stdout).not.toContain('\u001B');
  expect(await treeOf(cwd)).toEqual(before);
});

/** Replies that were taken for an approval by readers that looked at the word alone. */
const DOUBTFUL = [
  review({ verdict: 'APPROVED' }).replace('**APPROVED** - words', '**APPROVED**, except for section 7'),
  review({ verdict: 'APPROVED' }).replace(
    '**APPROVED** - words',
    '**APPROVED**. This holds only if the cache is bounded.',
  ),
  `${review({ verdict: 'APPROVED' })}\nHowever, do not start until section 7 is fixed.\n`,
  review({ verdict: 'APPROVED', questions: ['Who pays for it?'] }),
  review({ verdict: 'APPROVED' }).replace('Read with care.', 'It can be implemented once section 7 is fixed.'),
  review({ verdict: 'APPROVED' }).replace('Read with care.', 'The cache isnâ€™t bounded.'),
  '{"verdict": "APPROVED, if the licence is MIT"}',
  review({ verdict: 'APPROVED' }).replace(
    '## Verdict',
    '## Major Concerns\nThe retry loop has no bound.\n\n## Verdict',
  ),
  review({ verdict: 'APPROVED' }).replace('## Verdict', '## P0\n- The retry loop has no bound.\n\n## Verdict'),
  '# LLD Review: 42\n\n## Requirement Coverage Analysis\nCoverage: 90%\n\n## Verdict\n[x] **APPROVED**\n[ ] **REVISE**\n',
];
const PLAIN = [
  review({ verdict: 'APPROVED', tier2: ['**Names:** two for one thing.'] }),
  'APPROVED\n',
  review({ verdict: 'APPROVED' }).replace('Read with care.', 'Itâ€™s short.'),
  '{"verdict": "APPROVED"}',
];

test('an approval that goes on speaking is stated, and not trusted', async () => {
  const cwd = await testFolder();
  const write = (name: string, texts: string[]): Promise<string[]> =>
    Promise.all(
      texts.map(async (text, index) => {
        await writeFile(join(cwd, `${name}-${index}.md`), text);
        return `${name}-${index}.md`;
      }),
    );
  const [doubtful, plain] = [await write('doubtful', DOUBTFUL), await write('plain', PLAIN)];
  const [first, second] = await Promise.all([
    agentos(['check', '--json', ...doubtful], { cwd }),
    agentos(['check', '--json', ...plain], { cwd }),
  ]);
  expect([first.code, second.code]).toEqual([1, 0]);
  for (const entry of JSON.parse(first.stdout)) {
    expect(entry.problems, entry.file).not.toEqual([]);
    expect(entry).toMatchObject({ kind: 'review', trustworthy: false });
  }
  for (const entry of JSON.parse(second.stdout)) {
    expect(entry).toMatchObject({ kind: 'review', verdict: 'APPROVED', problems: [], trustworthy: true });
  }
});

test('an approved LLD is checked at the commit that it was approved for', async () => {
  const repository = await testRepository({});
  const commit = repository.git('rev-parse', 'HEAD').trim();
  await repository.write('src/item-42.js', 'export const item42 = 42;\n');
  repository.git('add', '.');
  repository.git('commit', '-qm', 'implemented');
  const approved = (base: string): string =>
    `---\nissue: 42\nstatus: approved\nbaseCommit: ${base}\n---\n\n${lldFor('42')}`;
  await repository.write('docs/LLD.md', approved(commit));
  await repository.write('docs/other.md', approved('0'.repeat(40)));
  const { code, stdout } = await agentos(['check', '--json', 'docs/LLD.md', 'docs/other.md'], { cwd: repository.root });
  const [atBase, atHead] = JSON.parse(stdout);
  expect(atBase.findings.filter(({ severity }: { severity: string }) => severity === 'error')).toEqual([]);
  expect(atHead.findings).toContainEqual(expect.objectContaining({ rule: 'path-exists', severity: 'error' }));
  expect(code).toBe(1);
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
