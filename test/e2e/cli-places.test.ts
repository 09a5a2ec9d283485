import { existsSync } from 'node:fs';
import { chmod, mkdir, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { testFolder } from '../support/folder.ts';
import { ISSUE } from '../support/models.ts';
import { agentos, PROJECT, type ProgramOptions } from '../support/program.ts';
import { expectRefusal } from '../support/refusal.ts';
import { type TestRepository, testRepository } from '../support/repository.ts';
import { scriptedModels } from '../support/scripted-models.ts';
import { canMount } from '../support/small-disk.ts';
import { treeOf } from '../support/tree.ts';

const optionsOf = (repository: TestRepository, env: Record<string, string> = {}): ProgramOptions => ({
  cwd: repository.root,
  env: { HOME: repository.home, ...env },
});

/** A PATH with what the start script needs, and without git. */
async function pathWithoutGit(): Promise<string> {
  const folder = join(await testFolder(), 'bin');
  await mkdir(folder);
  const places = (process.env['PATH'] ?? '').split(delimiter);
  for (const name of ['dirname', 'readlink']) {
    const program = places.map((place) => join(place, name)).find((candidate) => existsSync(candidate));
    if (program !== undefined) await symlink(program, join(folder, name));
  }
  return folder;
}

test('outside a repository every command that needs one says so, and nothing is written', async () => {
  const cwd = await testFolder();
  const commands = [['lld', '1', '--offline'], ['lld', '--all'], ['status'], ['logs', '1'], ['init'], ['resume']];
  for (const ended of await Promise.all(commands.map((args) => agentos(args, { cwd }))))
    expectRefusal(ended, 'is not inside a git repository.', 'git init');
  expect(await treeOf(cwd)).toEqual({});
});

test('a current directory that was removed is no repository, and --repo names another', async () => {
  const repository = await testRepository({ 1: ISSUE });
  const under = ['sh', '-c', 'mkdir gone && cd gone && rmdir ../gone && exec "$@"', 'sh'];
  const options = { ...optionsOf(repository), under };
  const lost = await agentos(['status'], options);
  expect(lost).toMatchObject({ code: 2, stderr: expect.stringContaining('is not inside a git repository.') });
  expect(await agentos(['lld', '1', '--offline', '--repo', repository.root], options)).toMatchObject({ code: 3 });
});

test('a repository without a commit, without issues/, or with nothing pending is told apart', async () => {
  const fresh = await testRepository({ 1: ISSUE }, { commit: false });
  expectRefusal(await agentos(['lld', '1', '--offline'], optionsOf(fresh)), 'has no commit yet.', 'git commit');
  expect(await fresh.list('.agentos')).toEqual([]);

  const folder = await testFolder();
  fresh.git('init', '--quiet', folder);
  expectRefusal(await agentos(['lld', '--all'], { cwd: folder }), /There is no folder .*issues\./, 'issues/<id>.md');
  expectRefusal(await agentos(['lld', '1'], { cwd: folder }), 'There is no issue 1', 'Write it there');

  const idle = await testRepository({});
  const nothing = await agentos(['lld', '--all'], optionsOf(idle));
  expect(nothing).toMatchObject({ code: 0, stderr: '' });
  expect(nothing.stdout).toContain('Nothing to do');
  expect(await idle.list('.agentos')).toEqual([]);
});

test('an id may be written as #21, and as the file of an issue or brief of this repository, wherever one is asked for', async () => {
  const [repository, other] = [await testRepository({ 21: ISSUE }), await testRepository({ 21: ISSUE })];
  const { root } = repository;
  await repository.write('briefs/21.md', 'An idea.\n');
  const inRoot = optionsOf(repository);
  const plans: [args: string[], cwd: string][] = [
    [['lld', '#21'], root],
    [['lld', '--ids', 'issues/21.md'], root],
    [['run', '../issues/21.md'], join(root, 'src')],
    [['lld', join(root, 'issues/21.md')], root],
    [['lld', 'issues/21.md', '--repo', root], repository.home],
    [['issue', 'briefs/21.md'], root],
    // All items and a number of workers: 21 is no item here.
    [['lld', '--all', '--parallel', '21'], root],
  ];
  const planned = await Promise.all(
    plans.map(([args, cwd]) => agentos([...args, '--dry-run', '--json'], { ...inRoot, cwd })),
  );
  for (const { stdout } of planned) expect(JSON.parse(stdout).items).toMatchObject([{ id: '21' }]);

  const refusals: [args: string[], what: string][] = [
    [['implement', '#21'], 'There is no LLD for 21:'],
    [['logs', 'issues/21.md'], 'There is no log of 21.'],
    [['decide', '#21', '--drop'], '21 is not waiting for a decision'],
    [['clean', '--discard', 'issues/21.md'], '21'],
    [['lld', 'issues/22.md'], '"issues/22.md" is neither an id nor the file of an issue here.'],
    [['lld', join(other.root, 'issues/21.md')], 'is neither an id nor the file of an issue here.'],
    [['lld', '##21'], '"##21" is not a valid id.'],
  ];
  const refused = await Promise.all(refusals.map(([args]) => agentos(args, inRoot)));
  for (const [index, { code, stdout, stderr }] of refused.entries()) {
    const [args = [], what = ''] = refusals[index] ?? [];
    if (args[0] !== 'clean') expect(code, args.join(' ')).toBe(2);
    expect(stdout + stderr).toContain(what);
  }
});

test('without git on the PATH that is what is said, and nothing is written', async () => {
  const repository = await testRepository({ 1: ISSUE });
  const options = optionsOf(repository, { PATH: await pathWithoutGit() });
  const before = await treeOf(repository.root);
  for (const args of [['lld', '1', '--offline'], ['status'], ['init'], ['demo', '--dir', 'tour']]) {
    expectRefusal(await agentos(args, options), 'git was not found.', 'Install git');
  }
  const doctor = await agentos(['doctor'], options);
  expect(doctor.code).toBe(1);
  expect(doctor.stdout).toContain('git was not found.');
  expect(await treeOf(repository.root)).toEqual(before);
});

test('check needs no git, and says that it did not look up the paths', async () => {
  const { code, stdout } = await agentos(['check', join(PROJECT, 'test/fixtures/lld/LLD-42.md')], {
    cwd: await testFolder(),
    env: { PATH: await pathWithoutGit() },
  });
  expect(code).toBe(0);
  expect(stdout).toContain('Paths were not looked up');
  expect(stdout).toContain('2 requirements covered / 2 total');
  expect(stdout).toContain('0 error(s)');
});

test('a state folder that can not be is refused before anything starts', async () => {
  const repository = await testRepository({ 1: ISSUE });
  await repository.write('a file', '');
  const before = await treeOf(dirname(repository.root));
  const refused = async (where: string, why: string): Promise<void> => {
    const ended = await agentos(['lld', '1', '--offline', '--base-dir', where], optionsOf(repository));
    expectRefusal(ended, `can't be written: ${why}.`, '--base-dir <dir> or AGENTOS_HOME');
  };
  await refused('a file', 'something else is in its place');
  await refused('a file/below', 'a part of its path is not a folder');
  if (process.getuid?.() !== 0) {
    await chmod(repository.home, 0o555);
    await refused(repository.home, 'permission denied');
    await chmod(repository.home, 0o755);
  }
  expect(await treeOf(dirname(repository.root))).toEqual(before);
});

test('state goes where AGENTOS_HOME or --base-dir say: inside as named, outside in a subfolder for each repository', async () => {
  const repository = await testRepository({ 1: ISSUE });
  const outside = join(dirname(repository.root), 'state ü');
  const ends = [
    await agentos(['lld', '1', '--offline', '--base-dir', 'own state'], optionsOf(repository)),
    await agentos(['lld', '1', '--offline'], optionsOf(repository, { AGENTOS_HOME: outside })),
    await agentos(['lld', '1', '--offline', '--base-dir', '.'], optionsOf(repository)),
  ];
  expect(ends.map((ended) => ended.code)).toEqual([3, 3, 3]);
  expect(await repository.list('own state')).toContain('runs');
  expect(await readdir(outside)).toEqual([expect.stringMatching(/^repo_sitory-[0-9a-f]{12}$/)]);
  expect(await repository.list('.agentos')).toContain('runs');
  expect(await repository.list('.')).not.toContain('.gitignore');
  expect(repository.git('status', '--short')).toBe('?? docs/');
  expect(await repository.list('../home')).toEqual([]);
  const status = await agentos(['status', '--json'], optionsOf(repository, { AGENTOS_HOME: outside }));
  expect(JSON.parse(status.stdout).runs).toHaveLength(1);
});

test('a subfolder, a detached HEAD and a dirty tree are all the same to it', async () => {
  const repository = await testRepository({ 1: ISSUE });
  repository.git('checkout', '--quiet', '--detach');
  await repository.write('src/main.js', 'export const answer = 43;\n');
  await repository.write('src/untracked.js', '');
  const { flags } = await scriptedModels(repository);
  const ended = await agentos(['lld', '1', ...flags], {
    ...optionsOf(repository),
    cwd: join(repository.root, 'src'),
  });
  expect(ended.code).toBe(0);
  expect(await repository.list('docs/lld')).toEqual(['LLD-1.md']);
  expect(await repository.list('src')).toEqual(['main.js', 'untracked.js']);
  expect(await repository.read('src/main.js')).toContain('43');
});

test('--repo works from anywhere, with a path relative to where one stands', async () => {
  const repository = await testRepository({ 1: ISSUE });
  const ended = await agentos(['lld', '1', '--offline', '--repo', '../repo sitory/src'], {
    ...optionsOf(repository),
    cwd: repository.home,
  });
  expect(ended.code).toBe(3);
  expect(await repository.list('docs/lineage')).toEqual(['1']);
  expect(await repository.list('../home')).toEqual([]);
});

test('odd issues fail with their reasons while the others go on', async () => {
  const repository = await testRepository({
    1: ISSUE,
    2: '',
    10: ISSUE,
    README: '# Not an issue',
    'a b': '# Nor this',
  });
  await writeFile(join(repository.root, 'issues/3.md'), Uint8Array.of(0xff, 0xfe));
  await mkdir(join(repository.root, 'issues/4.md'));
  await symlink('/etc/hosts', join(repository.root, 'issues/5.md'));
  const { code, stdout } = await agentos(['lld', '--all', '--offline'], optionsOf(repository));
  expect(code).toBe(1);
  for (const reason of ['2.md is empty', '3.md is not UTF-8 text', '4.md is a folder', '5.md is a link that leaves'])
    expect(stdout).toContain(reason);
  expect(stdout).toContain('Failed: 2, 3, 4, 5. Retry with: agentos lld --ids 2 3 4 5 --offline');
  expect(await repository.list('docs/lineage')).toEqual(['1', '10']);
  expect(await readFile(join(repository.root, 'issues/README.md'), 'utf8')).toBe('# Not an issue');
});

test('a state folder that comes with the repository, or leads elsewhere, is refused; nothing there is touched', async () => {
  const repository = await testRepository({ 1: ISSUE });
  const options = { cwd: repository.root, env: { HOME: repository.home } };
  const outside = join(repository.home, '..', 'elsewhere');
  await mkdir(join(outside, 'precious'), { recursive: true });
  const refusals = async (why: string): Promise<void> => {
    for (const args of [['lld', '1', '--offline'], ['resume'], ['clean'], ['status']]) {
      const { code, stderr } = await agentos(args, options);
      expect([code, stderr], args.join(' ')).toEqual([2, expect.stringContaining(why)]);
    }
    expect(existsSync(join(outside, 'precious'))).toBe(true);
  };
  const state = join(repository.root, '.agentos');
  await symlink(outside, state);
  await refusals('it is a link');
  await rm(state);

  await mkdir(join(state, 'checkpoints'), { recursive: true });
  await symlink(outside, join(state, 'homes'));
  await refusals('homes in it is a link');
  await rm(join(state, 'homes'));
  await symlink(join(outside, 'precious'), join(state, 'checkpoints', 'lld-1.db'));
  await refusals('checkpoints/lld-1.db in it is a link');
  await rm(join(state, 'checkpoints', 'lld-1.db'));

  await mkdir(join(state, 'locks'));
  await writeFile(join(state, 'locks', 'lld-1.lock'), '{}');
  repository.git('add', '--force', '.agentos');
  await refusals('committed to the repository');
  repository.git('rm', '--quiet', '--cached', '-r', '.agentos');
  expect((await agentos(['lld', '1', '--offline'], options)).code).toBe(3);
  expect((await stat(state)).mode & 0o777).toBe(0o700);
});

test.skipIf(!canMount())('a work folder that another user made first is neither used nor cleaned', async () => {
  const repository = await testRepository({ 1: ISSUE });
  const reports = join(repository.home, '..', 'left');
  // A /var/tmp of its own, with what another user put there; then a list of all that is in it.
  const place = (made: string): string[] => {
    const script = `mount -t tmpfs none /var/tmp && cd /var/tmp && ${made} && cd - >/dev/null && "$@"; code=$?; find /var/tmp -mindepth 1 > '${reports}'; exit $code`;
    return ['unshare', '--mount', 'sh', '-c', script, 'sh'];
  };
  for (const [made, why] of [
    ['mkdir -p agentos-0/precious && chown 65534 agentos-0', 'it belongs to another user (65534)'],
    ['mkdir -p agentos-0/precious && chmod 777 agentos-0', 'others can write it'],
    ['mkdir -p other/precious && ln -s other agentos-0', 'it is a link'],
  ] as const)
    for (const args of [
      ['lld', '1', '--offline'],
      ['clean', '--caches'],
    ]) {
      const { code, stderr } = await agentos(args, { ...optionsOf(repository), under: place(made) });
      expect.soft([code, stderr], `${made}: ${args.join(' ')}`).toEqual([2, expect.stringContaining(why)]);
      const left = (await readFile(reports, 'utf8')).trim().split('\n');
      expect.soft(left.map((path) => path.replace('/var/tmp/', ''))).toContainEqual(expect.stringMatching(/precious$/));
      expect.soft(left.length).toBe(made.includes('ln') ? 3 : 2);
    }
});
