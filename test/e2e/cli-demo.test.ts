import { execFileSync } from 'node:child_process';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { testFolder } from '../support/folder.ts';
import { agentos } from '../support/program.ts';
import { expectRefusal } from '../support/refusal.ts';
import { treeOf } from '../support/tree.ts';

test('the demo goes as recorded with exit code 0, keeps to its folder, and can be run again', async () => {
  const cwd = await testFolder();
  const home = join(cwd, 'home');
  await mkdir(home);
  const env = { HOME: home, AGENTOS_HOME: join(cwd, 'elsewhere'), ANTHROPIC_API_KEY: 'sk-ant-0123456789' };
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
  const branches = ['for-each-ref', '--format=%(refname:short)', 'refs/heads/agentos'];
  expect(execFileSync('git', branches, { cwd: join(cwd, 'agentos-demo'), encoding: 'utf8' })).toMatch(
    /^agentos\/21-\S+\nagentos\/7-\S+\n$/,
  );
  expect(await readdir(join(cwd, 'agentos-demo/docs/lld'))).toEqual(['LLD-21.md', 'LLD-7.md']);
  expect(await readdir(cwd)).toEqual(['agentos-demo', 'home']);
  expect(await readdir(home)).toEqual([]);

  // Standing in it: the folder is filled anew, not taken away from under the user.
  const again = await agentos(['demo', '--dir', '.'], { cwd: join(cwd, 'agentos-demo'), env });
  expect(again.code).toBe(0);
  expect(again.stdout).toContain('less docs/lld/LLD-7.md');
  expect(execFileSync('git', ['log', '--format=%s'], { cwd: join(cwd, 'agentos-demo'), encoding: 'utf8' })).toBe(
    'Sample repository\n',
  );
});

test('what the demo says to try next can be copied and works, also with a space in the path', async () => {
  const cwd = await testFolder();
  const { code, stdout } = await agentos(['demo', '--dir', 'a tour'], { cwd });
  expect(code).toBe(0);
  const commands = stdout
    .slice(stdout.indexOf('What to try next'), stdout.indexOf('In a repository of your own'))
    .split('\n')
    .filter((line) => /^ {2}\S/.test(line))
    .map((line) => line.trim());
  expect(commands).toHaveLength(6);
  for (const command of commands) {
    const shell = ['-c', `${command.replace(/^less /, 'cat ')}; echo "exit $?"`];
    const printed = execFileSync('sh', shell, { cwd, encoding: 'utf8', env: { PATH: process.env['PATH'], HOME: cwd } });
    expect(printed, command).toMatch(command.includes('--all') ? /exit 3\n$/ : /exit 0\n$/);
  }
});

test('a folder that is not the demo’s own is refused and left as it is', async () => {
  const cwd = await testFolder();
  await mkdir(join(cwd, 'mine'));
  await writeFile(join(cwd, 'mine/thesis.md'), 'years of work');
  await writeFile(join(cwd, 'file'), '');
  const before = await treeOf(cwd);
  const taken = 'exists and was not made by the demo.';
  for (const [dir, what] of [
    ['mine', taken],
    ['.', taken],
    ['', taken],
    ['file', taken],
    ['file/below', 'could not be written: a part of its path is not a folder.'],
  ] as const) {
    expectRefusal(await agentos(['demo', '--dir', dir], { cwd }), what, /^(Name another folder|Check the folder)/);
  }
  expect(await treeOf(cwd)).toEqual(before);
});

test('in a git hook, whose environment names the user’s repository, the demo keeps off it', async () => {
  const cwd = await testFolder();
  const git = (...args: string[]): string => execFileSync('git', args, { cwd, encoding: 'utf8' });
  git('init', '--quiet', 'mine');
  const head = await readFile(join(cwd, 'mine/.git/HEAD'), 'utf8');
  const { code } = await agentos(['demo'], {
    cwd,
    env: { GIT_DIR: join(cwd, 'mine/.git'), GIT_INDEX_FILE: join(cwd, 'mine/.git/index') },
  });
  expect(code).toBe(0);
  expect(await readFile(join(cwd, 'mine/.git/HEAD'), 'utf8')).toBe(head);
  expect(await readdir(join(cwd, 'mine/.git'))).not.toContain('index');
});
