import { mkdir, realpath, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type ToolWorktree, toolWorktree } from '../../test/support/tool-worktree.ts';
import { NotDone } from './tools.ts';
import { locate, type Purpose } from './worktree.ts';

/** Links in every direction, around `work tree` and inside of it. */
async function hostileWorktree(): Promise<ToolWorktree> {
  const made = await toolWorktree({
    'src/a.ts': 'a',
    'node_modules/p/index.js': 'p',
    '.agentos/state': 's',
    '.env': 'KEY=1',
    'plain/file.txt': 'x',
  });
  await writeFile(join(made.outside, 'secret.txt'), 'outside');
  await mkdir(join(made.outside, 'work tree-2'));
  await made.link('out', '..');
  await made.link('out-file', '../secret.txt');
  await made.link('out-absolute', made.outside);
  await made.link('sibling', '../work tree-2');
  await made.link('via', 'out');
  await made.link('loop', 'loop');
  await made.link('dangling', 'nowhere');
  await made.link('dangling-out', '../not-there.txt');
  await made.link('to-git', '.git');
  await made.link('to-packages', 'node_modules');
  await made.link('to-state', '.agentos');
  await made.link('notes.txt', '.env');
  await made.link('inside', 'src');
  await made.link('itself', '.');
  return made;
}

const why = ({ worktree }: ToolWorktree, path: string, purpose: Purpose = 'write'): Promise<string> =>
  locate(worktree, path, purpose).then(
    ({ absolute }) => `allowed: ${absolute}`,
    (error: unknown) => {
      if (error instanceof NotDone) return error.message;
      throw error;
    },
  );

describe('a path of the model', () => {
  test.each([
    '',
    '..',
    '../secret.txt',
    'src/../../secret.txt',
    './../x',
    '/',
    '/etc/passwd',
    '//etc/passwd',
    'src\\a.ts',
    '..\\secret.txt',
    'src/a\0.ts',
    'src/a\n.ts',
    'src/\ud800.ts',
    '.git',
    '.git/config',
    './.git/hooks/pre-commit',
    'src/.git',
    'src/.git/config',
    '.GIT/config',
    '.Git',
    '.git./config',
    '.git /config',
    '.g\u200cit/config',
    '.git::$INDEX_ALLOCATION/config',
    'GIT~1/config',
    '.agentos/state',
    'src/../.agentos',
    '.AgentOS/x',
    'out/secret.txt',
    'out-file',
    'out-absolute/secret.txt',
    'out/work tree/src/a.ts',
    'sibling/new.ts',
    'via/secret.txt',
    'loop',
    'loop/x',
    'dangling',
    'dangling/x',
    'dangling-out',
    'to-git/config',
    'to-state/state',
    'inside/../to-git/config',
    'plain/file.txt/below',
    'x'.repeat(300),
  ])('%j is refused, for reading as for writing', async (path) => {
    const made = await hostileWorktree();
    expect(await why(made, path, 'read')).not.toContain('allowed');
    expect(await why(made, path, 'write')).not.toContain('allowed');
  });

  test.each(['node_modules/p/index.js', 'node_modules/new.js', 'src/Node_Modules/x', 'to-packages/p/index.js'])(
    '%j may not be changed',
    async (path) => {
      const made = await hostileWorktree();
      expect(await why(made, path, 'write')).toContain('installed packages');
      expect(await why(made, path, 'remove')).toContain('installed packages');
      expect(await why(made, path, 'read')).toContain('allowed');
    },
  );

  test.each([
    ['src/a.ts', 'src/a.ts', 'file'],
    ['./src//a.ts', 'src/a.ts', 'file'],
    ['plain/../src/a.ts', 'src/a.ts', 'file'],
    ['new/deep/file.ts', 'new/deep/file.ts', 'missing'],
    ['inside/a.ts', 'src/a.ts', 'file'],
    ['itself/itself/src/a.ts', 'src/a.ts', 'file'],
    ['inside/new.ts', 'src/new.ts', 'missing'],
    ['.', '', 'folder'],
    ['.gitignore', '.gitignore', 'missing'],
    ['.github/workflows/ci.yaml', '.github/workflows/ci.yaml', 'missing'],
    ['..a/...', '..a/...', 'missing'],
  ])('%j is allowed and is really %j', async (path, real, kind) => {
    const made = await hostileWorktree();
    expect(await locate(made.worktree, path, 'write')).toMatchObject({
      absolute: join(made.worktree.root, real),
      kind,
    });
  });

  test('the worktree may be named in full, also through a link to it', async () => {
    const made = await toolWorktree({ 'a.ts': '' });
    const alias = join(made.outside, 'alias');
    await symlink(made.worktree.root, alias);
    const worktree = { given: alias, root: made.worktree.root };
    expect(await locate(worktree, join(alias, 'a.ts'), 'read')).toMatchObject({ path: 'a.ts' });
    expect(await locate(worktree, join(made.worktree.root, 'a.ts'), 'read')).toMatchObject({ path: 'a.ts' });
    await expect(locate(worktree, `${made.worktree.root}-2/a.ts`, 'read')).rejects.toThrow(NotDone);
  });

  test('a link to a secret is a secret', async () => {
    const made = await hostileWorktree();
    expect(await locate(made.worktree, 'notes.txt', 'read')).toMatchObject({ secret: true });
    expect(await locate(made.worktree, 'src/a.ts', 'read')).toMatchObject({ secret: false });
  });

  test('only what is to be removed may itself be a link that leads out', async () => {
    const made = await hostileWorktree();
    expect(await locate(made.worktree, 'out-file', 'remove')).toMatchObject({ kind: 'link' });
    expect(await why(made, 'out/secret.txt', 'remove')).toContain('out of the repository');
  });

  test('whatever the path, what is allowed is inside and touches nothing that is guarded', async () => {
    const made = await hostileWorktree();
    const { root } = made.worktree;
    const segment = fc.oneof(
      fc.constantFrom('..', '.', '', 'src', 'a.ts', 'out', 'via', 'inside', 'itself', 'loop', 'sibling', 'work tree'),
      fc.constantFrom('.git', '.GIT', '.git.', 'GIT~1', '.agentos', 'node_modules', 'to-git', 'to-packages', 'new'),
      fc.string({ unit: 'binary', maxLength: 6 }),
    );
    const path = fc
      .tuple(fc.constantFrom('', '/', root, `${root}-2`, dirname(root)), fc.array(segment, { maxLength: 6 }))
      .map(([start, segments]) => [...(start === '' ? [] : [start]), ...segments].join('/'));
    let allowed = 0;
    await fc.assert(
      fc.asyncProperty(path, async (asked) => {
        const place = await locate(made.worktree, asked, 'write').catch((error: unknown) => {
          if (!(error instanceof NotDone)) throw error;
        });
        if (place === undefined) return;
        allowed += 1;
        const { absolute } = place;
        expect(absolute === root || absolute.startsWith(`${root}/`)).toBe(true);
        expect(absolute.slice(root.length).toLowerCase()).not.toMatch(/\/(?:\.git|\.agentos|node_modules)(?:\/|$)/);
        expect(await nearestReal(absolute)).toSatisfy((real: string) => real === root || real.startsWith(`${root}/`));
      }),
      { numRuns: 2_000 },
    );
    expect(allowed).toBeGreaterThan(50);
  });
});

/** The real place of the deepest folder above that exists, or of the path itself. */
async function nearestReal(path: string): Promise<string> {
  return realpath(path).catch(() => nearestReal(dirname(path)));
}
