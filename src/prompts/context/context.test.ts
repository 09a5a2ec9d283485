import { expect, test } from 'vitest';
import type { BaseCommit } from '../../git/repository.ts';
import { isSecret, namedPaths, repositoryContext } from './context.ts';

interface FakeCommit extends BaseCommit {
  /** What was asked for: a file that no model may see must not even be read. */
  reads: string[];
}

function commitOf(files: Record<string, string | Buffer | null>): FakeCommit {
  const reads: string[] = [];
  const bytes = (path: string): Buffer | null => {
    const content = files[path];
    return content === undefined || content === null ? null : Buffer.from(content);
  };
  return {
    commit: '0123456789abcdef0123456789abcdef01234567',
    paths: Object.keys(files),
    reads,
    kindOf: (path) => (path in files ? 'file' : null),
    sizeOf: (path) => bytes(path)?.length ?? null,
    read: async (path) => {
      reads.push(path);
      return bytes(path) ?? Buffer.alloc(0);
    },
  };
}

const plenty = { maxTokens: 10_000, exclude: [] };

test('the drafter is shown the tree and the files that the issue names', async () => {
  const base = commitOf({ 'src/a.js': 'const a = 1;\n', 'src/b.js': 'const b = 2;\n', 'README.md': 'Read me.\n' });
  const { text, included, leftOut } = await repositoryContext(base, 'Change `src/a.js`, please.', plenty);
  expect(included).toEqual(['src/a.js']);
  expect(leftOut).toEqual([]);
  expect(text).toContain('## Files at 0123456789ab');
  expect(text).toContain('src/b.js');
  expect(text).toContain('const a = 1;');
  expect(text).not.toContain('const b = 2;');
});

test('a file is named by its path, by ./path, at the end of a sentence, or by a name that only one file has', () => {
  const paths = ['src/a.js', 'src/index.js', 'lib/index.js', 'docs/größe.md', 'Makefile'];
  expect(namedPaths('See ./src/a.js.', paths)).toEqual(['src/a.js']);
  expect(namedPaths('(docs/größe.md), then a.js: twice a.js', paths)).toEqual(['docs/größe.md', 'src/a.js']);
  expect(namedPaths('Which index.js?', paths)).toEqual([]);
  expect(namedPaths('lib/index.js and src/index.js', paths)).toEqual(['lib/index.js', 'src/index.js']);
  expect(namedPaths('../etc/passwd /etc/passwd nothing.js', paths)).toEqual([]);
});

const secrets = [
  '.env',
  'deploy/.env.production',
  '.npmrc',
  'id_rsa',
  'keys/id_ed25519.pub',
  'config/server.pem',
  'a.key',
  'store.p12',
  'credentials.json',
  'secrets.yaml',
  'my-secrets.yml',
  'service-account.json',
  '.aws/config',
  'home/.ssh/known_hosts',
];

test.each(secrets)('%s is never listed, read or shown', async (path) => {
  const base = commitOf({ [path]: 'TOP-SECRET', 'src/a.js': '' });
  const { text, leftOut } = await repositoryContext(base, `Look at ${path} for the password.`, plenty);
  expect(isSecret(path)).toBe(true);
  expect(base.reads).toEqual([]);
  expect(text).not.toContain('TOP-SECRET');
  expect(text.slice(0, text.indexOf('## Not shown'))).not.toContain(path);
  expect(leftOut).toEqual([{ path, why: 'secret' }]);
});

test.each(['.env.example', 'src/keyboard.ts', 'src/secret-santa.ts', 'docs/tokens.md', 'environment.ts'])(
  '%s only looks like a secret',
  (path) => {
    expect(isSecret(path)).toBe(false);
  },
);

test('a private key under a harmless name is recognised by its content', async () => {
  const base = commitOf({ 'notes.txt': 'x\n-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n' });
  const { text, leftOut } = await repositoryContext(base, 'notes.txt', plenty);
  expect(text).not.toContain('AAAA');
  expect(leftOut).toEqual([{ path: 'notes.txt', why: 'secret' }]);
});

test('binary files, files that are not UTF-8, large ones, links and excluded ones are left out and said so', async () => {
  const base = commitOf({
    'logo.png': Buffer.from([0x89, 0x50, 0x00, 0x47]),
    'latin.txt': Buffer.from([0xe9, 0x0a]),
    'big.js': 'x'.repeat(64 * 1024 + 1),
    'link.js': null,
    'vendor/lib.js': 'vendored',
    'vendored.js': 'ours',
  });
  const issue = base.paths.join(' ');
  const { text, included, leftOut } = await repositoryContext(base, issue, {
    maxTokens: 100_000,
    exclude: ['vendor/'],
  });
  expect(included).toEqual(['vendored.js']);
  expect(Object.fromEntries(leftOut.map(({ path, why }) => [path, why]))).toEqual({
    'logo.png': 'binary',
    'latin.txt': 'binary',
    'big.js': 'large',
    'link.js': 'large',
    'vendor/lib.js': 'excluded',
  });
  expect(base.reads).not.toContain('vendor/lib.js');
  expect(text.slice(0, text.indexOf('## Not shown'))).not.toContain('vendor/lib.js');
});

test('the budget holds: what no longer fits is named instead of shown', async () => {
  const base = commitOf({ 'a.js': 'a'.repeat(3_000), 'b.js': 'b'.repeat(3_000), 'c.js': 'c'.repeat(300) });
  const { text, included, leftOut } = await repositoryContext(base, 'a.js b.js c.js', {
    maxTokens: 1_000,
    exclude: [],
  });
  expect(included).toEqual(['a.js', 'c.js']);
  expect(leftOut).toEqual([{ path: 'b.js', why: 'budget' }]);
  expect(text.length).toBeLessThanOrEqual(1_000 * 4 + 200);
});

test('a tree that is too large is folded into folders with their counts', async () => {
  const files = Object.fromEntries(
    Array.from({ length: 2_000 }, (_, at) => [`src/part-${at % 10}/deep/file-${at}.js`, 'x']),
  );
  const { text } = await repositoryContext(commitOf(files), 'Nothing named.', { maxTokens: 500, exclude: [] });
  expect(text.length).toBeLessThan(500 * 4);
  expect(text).toMatch(/^src\/part-3\/deep\/ \(200 files\)$/m);
});

test('a repository without files, or no budget at all, is no reason to fail', async () => {
  expect((await repositoryContext(commitOf({}), 'a.js', plenty)).included).toEqual([]);
  const none = await repositoryContext(commitOf({ 'a.js': 'x' }), 'a.js', { maxTokens: 0, exclude: [] });
  expect(none.leftOut).toEqual([{ path: 'a.js', why: 'budget' }]);
});

test('a file with fences in it can not end its own fence', async () => {
  const base = commitOf({ 'a.md': '````\ninner\n````\n' });
  const { text } = await repositoryContext(base, 'a.md', plenty);
  expect(text).toContain('`````\n````\ninner\n````\n`````');
});
