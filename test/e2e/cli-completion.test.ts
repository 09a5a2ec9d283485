import { execFileSync, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { testFolder } from '../support/folder.ts';
import { ISSUE } from '../support/models.ts';
import { agentos } from '../support/program.ts';
import { testRepository } from '../support/repository.ts';

const installed = (shell: string): boolean => spawnSync(shell, ['--version']).error === undefined;

test('bash completes commands, flags, values and ids, wherever in the repository one stands', async () => {
  const repository = await testRepository({ 7: ISSUE, 72: ISSUE, README: '# No issue', '$(touch hacked)': '# A trap' });
  for (const path of ['briefs/dark-mode.md', 'briefs/7.md', 'docs/lld/LLD-7.md', 'docs/lld/notes.md'])
    await repository.write(path, 'Text\n');
  const { code, stdout: completion } = await agentos(['completion', 'bash'], { cwd: repository.home });
  expect(code).toBe(0);
  execFileSync('bash', ['-n'], { input: completion });
  const complete = (...words: string[]): string[] =>
    execFileSync(
      'bash',
      [
        '-c',
        `${completion}\nCOMP_WORDS=(agentos "$@"); COMP_CWORD=$#; _agentos; printf '%s\\n' "\${COMPREPLY[@]}"`,
        'bash',
        ...words,
      ],
      { cwd: join(repository.root, 'src'), encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] },
    )
      .split('\n')
      .filter((word) => word !== '');
  expect(complete('ll')).toEqual(['lld']);
  expect(complete('--v')).toEqual(['--version']);
  expect(complete('lld', '--off')).toEqual(['--offline']);
  expect(complete('lld', '')).toEqual(['7', '72']);
  expect(complete('logs', '72')).toEqual(['72']);
  expect(complete('run', '')).toEqual(['7', '72']);
  expect(complete('issue', '')).toEqual(['7', 'dark-mode']);
  expect(complete('implement', '')).toEqual(['7']);
  for (const command of ['logs', 'decide']) expect(complete(command, 'd')).toEqual(['dark-mode']);
  expect(complete('run', '--un')).toEqual(['--until']);
  expect(complete('lld', '--ids', '7')).toEqual(['7', '72']);
  expect(complete('completion', 'z')).toEqual(['zsh']);
  expect(complete('help', 'ch')).toEqual(['check']);
  // Nothing of ours: the shell completes file names.
  expect(complete('check', '')).toEqual([]);
  expect(complete('lld', '--repo', '')).toEqual([]);
  expect(await repository.list('src')).toEqual(['main.js']);
});

test.each(['zsh', 'fish'])('the completion for %s knows every command and flag', async (shell) => {
  const cwd = await testFolder();
  const { code, stdout } = await agentos(['completion', shell], { cwd });
  expect(code).toBe(0);
  for (const word of [
    'lld',
    'issue',
    'implement',
    'run',
    'until',
    'resume',
    'check',
    'status',
    'logs',
    'doctor',
    'init',
    'demo',
    'completion',
    'max-cost-per-item',
    'follow',
  ])
    expect(stdout).toContain(word);
  if (installed(shell)) execFileSync(shell, ['-n'], { input: stdout });
});
