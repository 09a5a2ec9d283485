import { mkdir, realpath, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { testFolder } from '../../../test/support/folder.ts';
import { showNamed, showToolchains } from './places.ts';
import { createRules, type Rules } from './rules.ts';

let top = '';
let rules: Rules;

beforeEach(async () => {
  top = await realpath(await testFolder());
  vi.stubEnv('HOME', join(top, 'home'));
  await mkdir(join(top, 'home'));
  rules = createRules();
  rules.hide(top);
  rules.empty(join(top, 'home'));
});
afterEach(() => vi.unstubAllEnvs());

async function files(...paths: string[]): Promise<void> {
  for (const path of paths) {
    await mkdir(dirname(join(top, path)), { recursive: true });
    await writeFile(join(top, path), '');
  }
}

function shown(...paths: string[]): boolean[] {
  return paths.map((path) => !rules.isHidden(join(top, path)));
}

test('version managers in the home are shown, without their credentials; other programs’ folders are not', async () => {
  await files(
    'home/.nvm/versions/node',
    'home/.cargo/bin/cargo',
    'home/.cargo/credentials.toml',
    'home/.gem/credentials',
  );
  await files('home/.gem/ruby/gem', 'home/.ssh/id', 'home/.local/share/keyrings/login', 'home/.local/bin/tool');
  showToolchains(rules, { PATH: `${top}/home/.local/bin:relative` }, []);
  expect(
    shown('home/.nvm/versions/node', 'home/.cargo/bin/cargo', 'home/.gem/ruby/gem', 'home/.local/bin/tool'),
  ).toEqual([true, true, true, true]);
  expect(
    shown('home/.cargo/credentials.toml', 'home/.gem/credentials', 'home/.ssh/id', 'home/.local/share/keyrings/login'),
  ).toEqual([false, false, false, false]);
});

test('a folder of the PATH is shown with what it belongs to, and with where its links lead', async () => {
  await files(
    'jdk/bin/java',
    'jdk/lib/modules',
    'bin/own',
    'apps/tool/bin/tool',
    'apps/tool/lib/code',
    'apps/other/code',
  );
  await symlink(join(top, 'apps/tool/bin/tool'), join(top, 'bin/tool'));
  await files('bin/checkout/main');
  rules.hide(join(top, 'bin/checkout'));
  showToolchains(rules, { PATH: `${top}/jdk/bin:${top}/bin` }, []);
  expect(shown('jdk/bin/java', 'jdk/lib/modules', 'bin/own', 'apps/tool/lib/code')).toEqual([true, true, true, true]);
  expect(shown('apps/other/code', 'home', 'bin/checkout/main')).toEqual([false, false, false]);
});

test('what variables name is shown where they are known or handed over', async () => {
  await files('java/release', 'certificates.pem', 'key.json', 'else');
  const env = {
    JAVA_HOME: `${top}/java`,
    SSL_CERT_FILE: `${top}/certificates.pem`,
    KEY: `${top}/key.json`,
    X: `${top}/else`,
  };
  showToolchains(rules, env, ['KEY']);
  expect(shown('java/release', 'certificates.pem', 'key.json', 'else')).toEqual([true, true, true, false]);
});

test('a file that a command names is shown with what is beside it and what Node finds from there', async () => {
  await files('tools/package.json', 'tools/node_modules/dep/index.js', 'tools/src/model.js', 'tools/src/beside.js');
  await files('tools/private/key', 'home/secret', 'checkout/src/main.js');
  rules.hide(join(top, 'checkout'));
  showNamed(rules, `node --flag '${top}/tools/src/model.js' x=1 > out`, []);
  expect(shown('tools/src/model.js', 'tools/src/beside.js', 'tools/node_modules/dep/index.js')).toEqual([
    true,
    true,
    true,
  ]);
  expect(shown('tools/package.json', 'tools/private/key', 'home/secret', 'checkout/src/main.js')).toEqual([
    true,
    false,
    false,
    false,
  ]);
});

test.each([
  ['a folder', (at: string) => `run --folder="${at}/data set"`, ['data set/x'], ['beside']],
  [
    'a path with escapes',
    (at: string) => `cat ${`${at}/data set/x`.replaceAll(' ', '\\ ')}`,
    ['data set/x', 'data set/y'],
    ['beside'],
  ],
  [
    'a file whose name the shell completes',
    (at: string) => `cat "${at}/data set/$(date).md"`,
    ['data set/y'],
    ['beside'],
  ],
  ['a file in a script', (at: string) => `bash -c '. "${at}/data set/x"'`, ['data set/x'], ['beside']],
  ['folders of a list', (at: string) => `env "PATH=${at}/none:${at}/dir" run`, ['dir/run'], ['beside']],
  ['a file in the home, and no more of it', () => 'sh ~/model.sh', ['home/model.sh'], ['home/other']],
  ['a file right in a hidden folder', (at: string) => `cat '${at}/beside'`, ['beside'], ['data set/x']],
  ['the home itself stays hidden', (at: string) => `ls '${at}/home' '${at}'`, [], ['home/model.sh', 'beside']],
  ['so do known places of keys', () => 'ssh -i $HOME/.ssh/id x', [], ['home/.ssh/id']],
  ['and the state folder', (at: string) => `cat '${at}/state/db'`, [], ['state/db']],
])('%s', async (_, command, seen, unseen) => {
  await files(
    'data set/x',
    'data set/y',
    'dir/run',
    'beside',
    'home/model.sh',
    'home/other',
    'home/.ssh/id',
    'state/db',
  );
  showNamed(rules, command(top), [join(top, 'state')]);
  expect(shown(...seen)).toEqual(seen.map(() => true));
  expect(shown(...unseen)).toEqual(unseen.map(() => false));
});
