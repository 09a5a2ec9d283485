import { mkdir, realpath, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { testFolder } from '../../test/support/folder.ts';
import { importedFromElsewhere, pythonEnvironment } from './python.ts';

async function project(files: Record<string, string>): Promise<string> {
  const folder = await testFolder();
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), text);
  }
  return folder;
}

const environmentOf = (worktree: string, env: Record<string, string> = {}, ownVenv = true) =>
  pythonEnvironment({ PATH: '/bin', ...env }, { worktree, home: '/home', repository: '/checkout', ownVenv });

test('Python runs in an environment of the item’s own; packages are found where nothing installs them', async () => {
  const plain = await project({ 'src/calc/__init__.py': '', 'setup.cfg': '' });
  expect(await environmentOf(plain)).toEqual({
    VIRTUAL_ENV: '/home/venv',
    UV_PROJECT_ENVIRONMENT: '/home/venv',
    PATH: '/home/venv/bin:/bin',
    PIP_DISABLE_PIP_VERSION_CHECK: '1',
    PYTHONPATH: join(plain, 'src'),
  });
  const below = await project({ 'package.json': '{}', 'api/src/calc/__init__.py': '', 'api/setup.cfg': '' });
  const places = { worktree: below, packages: ['api'], home: '/home', repository: '/checkout', ownVenv: true };
  expect(await environmentOf(below)).toEqual({});
  expect(await pythonEnvironment({ PATH: '/bin' }, places)).toMatchObject({
    VIRTUAL_ENV: '/home/venv',
    PYTHONPATH: join(below, 'api', 'src'),
  });
  const flat = await project({ 'calc/__init__.py': '', 'setup.cfg': '', 'docs/conf.py': '' });
  expect(await environmentOf(flat)).toHaveProperty('PYTHONPATH', flat);
  const built = await project({ 'src/calc/__init__.py': '', 'pyproject.toml': '[build-system]\n' });
  expect(await environmentOf(built)).not.toHaveProperty('PYTHONPATH');
  expect(await environmentOf(built, {}, false)).toEqual({});
  expect(await environmentOf(await project({ 'package.json': '{}' }))).toEqual({});
});

test('a PYTHONPATH into the checkout means the worktree', async () => {
  const folder = await project({ 'requirements.txt': '' });
  const { PYTHONPATH } = await environmentOf(folder, { PYTHONPATH: '/checkout/lib:/other' });
  expect(PYTHONPATH).toBe(`${folder}/lib:/other`);
});

test('a package that Python takes from elsewhere is named, with the place', async () => {
  const folder = await project({
    'src/calc/__init__.py': '',
    'src/json/__init__.py': '',
  });
  const system = await project({ 'calc/__init__.py': '' });
  const { signal } = new AbortController();
  const env = { PATH: process.env['PATH'] ?? '', PYENV_ROOT: process.env['PYENV_ROOT'] ?? '' };
  const found = await importedFromElsewhere(folder, { env: { ...env, PYTHONPATH: join(folder, 'src') }, signal });
  expect(found).toEqual([]);
  const elsewhere = await importedFromElsewhere(folder, { env: { ...env, PYTHONPATH: system }, signal });
  expect(elsewhere).toEqual([
    { name: 'calc', origin: join(await realpath(system), 'calc', '__init__.py') },
    { name: 'json', origin: expect.stringMatching(/json\/__init__\.py$/) },
  ]);
});
