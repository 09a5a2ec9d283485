import { execFileSync, spawnSync } from 'node:child_process';
import { delimiter, join } from 'node:path';
import { expect, test } from 'vitest';
import { testFolder } from '../support/folder.ts';
import { ISSUE } from '../support/models.ts';
import { agentos, PROJECT } from '../support/program.ts';
import { testRepository } from '../support/repository.ts';

/** The script asks the program. */
const WITH_AGENTOS = { PATH: `${join(PROJECT, 'bin')}${delimiter}${process.env['PATH']}`, HOME: '/nonexistent' };

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
      { cwd: join(repository.root, 'src'), env: WITH_AGENTOS, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] },
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

test.each([
  ['zsh', ':'],
  ['fish', '\t'],
])('the completion for %s knows every command and flag, with what they do', async (shell, between) => {
  const cwd = await testFolder();
  const [commands, run, logs] = await Promise.all(
    [[''], ['run', '--'], ['logs', '--']].map((words) => agentos(['completion', shell, '--', ...words], { cwd })),
  );
  for (const word of [
    'lld',
    'issue',
    'implement',
    'run',
    'resume',
    'check',
    'status',
    'logs',
    'doctor',
    'init',
    'demo',
    'completion',
  ])
    expect(commands?.stdout).toContain(`\n${word}${between}`.trimStart());
  expect(run?.stdout).toContain(`--until${between}the last stage\n`);
  expect(run?.stdout).toContain(`--max-cost-per-item${between}`);
  expect(logs?.stdout).toContain(`--follow${between}`);
});

/** The completion function of zsh with its surroundings played: what it offers, each word with what it does. */
const IN_ZSH = `
_describe() { print -l -- "\${(@P)2}" }
_files() { print files }
words=(agentos "$@"); CURRENT=$(( $# + 1 )); _agentos
`;

test.skipIf(!installed('zsh'))('zsh completes what it is told', async () => {
  const { stdout: script } = await agentos(['completion', 'zsh'], { cwd: await testFolder() });
  const complete = (...words: string[]): string[] =>
    execFileSync('zsh', ['-f', '-c', `compdef() { }\n${script}${IN_ZSH}`, 'zsh', ...words], {
      encoding: 'utf8',
      env: WITH_AGENTOS,
    }).split('\n');
  expect(complete('ll')[0]).toMatch(/^lld:turn issues/);
  expect(complete('lld', '--off')[0]).toMatch(/^--offline:no model: /);
  expect(complete('completion', 'z')[0]).toBe('zsh:');
  expect(complete('lld', '--repo', '')[0]).toBe('files');
});

test.skipIf(!installed('fish'))('fish completes what it is told', async () => {
  const { stdout: script } = await agentos(['completion', 'fish'], { cwd: await testFolder() });
  const complete = (line: string): string[] =>
    execFileSync('fish', ['--no-config', '-c', `${script}\ncomplete -C '${line}'`], {
      encoding: 'utf8',
      env: WITH_AGENTOS,
    }).split('\n');
  expect(complete('agentos ll')[0]).toMatch(/^lld\t/);
  expect(complete('agentos lld --off')[0]).toMatch(/^--offline\t/);
  expect(complete('agentos completion z')[0]).toBe('zsh');
});
