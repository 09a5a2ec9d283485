import { execFileSync } from 'node:child_process';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { testFolder } from '../support/folder.ts';
import { agentos } from '../support/program.ts';
import { expectRefusal } from '../support/refusal.ts';
import { treeOf } from '../support/tree.ts';

test('the demo goes as recorded, keeps to its folder and off a repository that a git hook names, and can be run again', {
  timeout: 120_000,
}, async () => {
  const cwd = await testFolder();
  const home = join(cwd, 'home');
  await mkdir(home);
  const git = (at: string, ...args: string[]): string => execFileSync('git', args, { cwd: at, encoding: 'utf8' });
  git(cwd, 'init', '--quiet', 'mine');
  const env = {
    HOME: home,
    AGENTOS_HOME: join(cwd, 'elsewhere'),
    ANTHROPIC_API_KEY: 'sk-ant-0123456789',
    GIT_DIR: join(cwd, 'mine/.git'),
    GIT_INDEX_FILE: join(cwd, 'mine/.git/index'),
  };
  const mine = await treeOf(join(cwd, 'mine'));
  const first = await agentos(['demo'], { cwd, env });
  expect(first).toMatchObject({ code: 0, stderr: '' });
  for (const text of [
    'review 1: REVISE',
    'review 2: APPROVED',
    'Waiting for a person: 12',
    'passes before the code is written',
    'new tests fail again without the code',
    'of them new',
    'What to try next',
  ])
    expect(first.stdout).toContain(text);
  expect(first.stdout.trimEnd().split('\n').at(-1)).toMatch(/report --repo agentos-demo --open$/);
  const demo = join(cwd, 'agentos-demo');
  expect(git(demo, 'for-each-ref', '--format=%(refname:short)', 'refs/heads/agentos')).toMatch(
    /^agentos\/21-\S+\nagentos\/7-\S+\n$/,
  );
  expect(await readdir(join(demo, 'docs/lld'))).toEqual(['LLD-21.md', 'LLD-7.md']);
  expect(await readdir(cwd)).toEqual(['agentos-demo', 'home', 'mine']);
  expect(await readdir(home)).toEqual([]);
  expect(await treeOf(join(cwd, 'mine'))).toEqual(mine);

  // Both change README.md and src/index.js: the second is a merge.
  const start = git(demo, 'rev-parse', 'HEAD').trim();
  for (const id of ['7', '21'])
    git(
      demo,
      'merge',
      '--no-edit',
      git(demo, 'branch', '--format=%(refname:short)', '--list', `agentos/${id}-*`).trim(),
    );
  expect(git(demo, 'status', '--short')).toBe('?? docs/lineage/\n?? docs/lld/\n');
  git(demo, 'reset', '--quiet', '--hard', start);

  // A second demo touches nothing of the first, nor what a person did there.
  await writeFile(join(demo, 'notes.md'), 'years of work');
  const before = await treeOf(demo);
  const again = await agentos(['demo'], { cwd, env });
  expect(again.code).toBe(0);
  expect(again.stdout).toContain('less agentos-demo-2/docs/lld/LLD-7.md');
  expect(git(join(cwd, 'agentos-demo-2'), 'log', '--format=%s')).toBe('Sample repository\n');
  expect(await treeOf(demo)).toEqual(before);
  expectRefusal(await agentos(['demo', '--dir', '.'], { cwd: demo, env }), 'already exists.', '--dir <folder>');
});

test('what the demo says to try next can be copied and works, to the end of the item that waits', async () => {
  const cwd = await testFolder();
  const { code, stdout } = await agentos(['demo', '--dir', 'a tour'], { cwd });
  expect(code).toBe(0);
  const commands = stdout
    .slice(stdout.indexOf('What to try next'), stdout.indexOf('In a repository of your own'))
    .split('\n')
    .filter((line) => /^ {2}\S/.test(line))
    .map((line) => line.trim());
  expect(commands).toHaveLength(10);
  let printed = '';
  for (const command of commands) {
    const shell = ['-c', `${command.replace(/^less /, 'cat ')}; echo "exit $?"`];
    printed = execFileSync('sh', shell, { cwd, encoding: 'utf8', env: { PATH: process.env['PATH'], HOME: cwd } });
    expect(printed, command).toMatch(command.includes('--all') ? /exit 3\n$/ : /exit 0\n$/);
    if (command.includes(' status 12 '))
      expect(printed).toContain(`agentos decide 12 --repo 'a tour' --approve --reason "…" | --drop\n`);
  }
  expect(printed).toContain('12  succeeded');
  const lld = await readFile(join(cwd, 'a tour/docs/lld/LLD-12.md'), 'utf8');
  expect(lld).toContain('status: approved');
  expect(lld).toContain('**RESOLVED: approved by agentos demo <demo@localhost>: ');
});

test('a folder that is not empty is refused and left as it is', async () => {
  const cwd = await testFolder();
  await mkdir(join(cwd, 'mine'));
  await writeFile(join(cwd, 'mine/thesis.md'), 'years of work');
  await writeFile(join(cwd, 'file'), '');
  const before = await treeOf(cwd);
  const taken = 'already exists.';
  for (const [dir, what] of [
    ['mine', taken],
    ['.', taken],
    ['', taken],
    ['file', taken],
    ['file/below', 'could not be written: a part of its path is not a folder.'],
  ] as const) {
    expectRefusal(
      await agentos(['demo', '--dir', dir], { cwd }),
      what,
      /^(Name a new or empty folder|Check the folder)/,
    );
  }
  expect(await treeOf(cwd)).toEqual(before);
});
