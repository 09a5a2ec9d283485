import { mkdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { testFolder } from '../../test/support/folder.ts';
import { portableSpec } from './implement-finish.ts';
import { createPortableText } from './worktree-item.ts';

test('paths in worktree and checkout become relative, in every spelling; others stay', async () => {
  const root = await testFolder();
  const repository = join(root, 'my repo');
  const worktree = join(repository, '.agentos/worktrees/implement-42');
  await mkdir(worktree, { recursive: true });
  await symlink(repository, join(root, 'link'));
  const portable = await createPortableText(join(root, 'link'), join(root, 'link/.agentos/worktrees/implement-42'));
  const cases: [string, string][] = [
    [`at ${worktree}/src/a.js:3:1`, 'at src/a.js:3:1'],
    [`at ${pathToFileURL(join(worktree, 'src/a.js')).href}:3:1`, 'at src/a.js:3:1'],
    [`at file://${worktree}/src/a.js`, 'at src/a.js'],
    [`in ${root}/link/.agentos/worktrees/implement-42/test`, 'in test'],
    [`${repository}/src/a.js and ${root}/link/src/b.js`, 'src/a.js and src/b.js'],
    [`cwd: '${worktree}'`, "cwd: '.'"],
    [`${repository}-old/src/a.js`, `${repository}-old/src/a.js`],
    ['/usr/lib/node.js, https://example.org/a', '/usr/lib/node.js, https://example.org/a'],
  ];
  for (const [text, expected] of cases) expect(portable(text)).toBe(expected);
});

test.each([
  ['command:node agent.mjs', 'command:node agent.mjs'],
  ["command:node '/home/ada/my repo/agent.mjs' 'code=well'", "command:node 'agent.mjs' 'code=well'"],
  ['command:"/home/ada/tools/agent" --fast', 'command:"../tools/agent" --fast'],
  ['command:/usr/bin/python3 write.py --to=/home/ada/x', 'command:python3 write.py --to=../x'],
  ['anthropic:claude-opus-5', 'anthropic:claude-opus-5'],
])('%s is named on a branch without folders of this machine', (spec, expected) => {
  expect(portableSpec('/home/ada/my repo', spec)).toBe(expected);
});
