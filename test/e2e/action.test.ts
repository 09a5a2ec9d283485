import { execFile, execFileSync } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { fakeGitHub } from '../support/hosts/github.ts';
import { hostedProject } from '../support/hosts/project.ts';
import { ISSUE, review } from '../support/models.ts';
import { PROJECT } from '../support/program.ts';

interface Step {
  id?: string;
  run?: string;
  env?: Record<string, string>;
}

test('the action runs the program with its inputs, and turns the summary into outputs; what waits is no failure', async () => {
  const action = parse(await readFile(join(PROJECT, 'action.yml'), 'utf8')) as {
    inputs: Record<string, { default: string }>;
    outputs: Record<string, { value: string }>;
    runs: { steps: Step[] };
  };
  const [install, step] = ['install', 'run'].map((wanted) => action.runs.steps.find(({ id }) => id === wanted));
  const { repository, bare, models, flags } = await hostedProject();
  const github = await fakeGitHub({ bare });
  github.issue({ number: 42, title: 'Add a number | @everyone', body: ISSUE });
  const who = (role: string): string => flags[flags.indexOf(`--${role}`) + 1] ?? '';
  const roles = Object.fromEntries(['drafter', 'reviewer', 'implementer'].map((role) => [role, who(role)]));
  await repository.write('agentos.yaml', `source: github:acme/widget\nmodels: ${JSON.stringify(roles)}\n`);
  const [output, summary] = ['output', 'summary'].map((name) => join(repository.home, '..', `${name}.md`));
  const run = (inputs: Record<string, string>): Promise<{ code: number; stdout: string; stderr: string }> =>
    new Promise((resolve) => {
      const values = Object.entries(step?.env ?? {}).flatMap(([name, value]) => {
        const [, input] = /^\$\{\{ inputs\.([\w-]+) \}\}$/.exec(value) ?? [];
        return input === undefined ? [] : [[name, inputs[input] ?? action.inputs[input]?.default ?? '']];
      });
      const env = {
        ...github.env,
        ...Object.fromEntries(values),
        PATH: process.env['PATH'] ?? '',
        HOME: repository.home,
        AGENTOS_PROGRAM: join(PROJECT, 'bin', 'agentos'),
        GITHUB_ACTION_PATH: PROJECT,
        GITHUB_OUTPUT: output,
        GITHUB_STEP_SUMMARY: summary,
      };
      execFile('bash', ['-e', '-c', step?.run ?? ''], { cwd: repository.root, env }, (error, stdout, stderr) =>
        resolve({ code: Number(error?.code ?? 0), stdout, stderr }),
      );
    });
  const outputs = async (): Promise<Record<string, string>> =>
    Object.fromEntries(
      (await readFile(output ?? '', 'utf8'))
        .trim()
        .split('\n')
        .slice(-5)
        .map((line) => line.split(/=(.*)/s) as [string, string]),
    );

  // Unless another package is named it is this repository that runs, and nothing that a registry has under its name.
  const bin = join(repository.home, 'bin');
  await mkdir(bin);
  await writeFile(join(bin, 'node'), '#!/bin/sh\necho "node $*"\n', { mode: 0o755 });
  await writeFile(join(bin, 'npm'), '#!/bin/sh\necho "npm $*"\n', { mode: 0o755 });
  const installed = join(repository.home, 'installed');
  const installing = { PATH: `${bin}:${process.env['PATH']}`, GITHUB_ACTION_PATH: PROJECT, GITHUB_OUTPUT: installed };
  const env = { ...installing, PACKAGE: action.inputs['package']?.default ?? '', RUNNER_TEMP: repository.home };
  const said = execFileSync('bash', ['-e', '-c', install?.run ?? ''], { env, encoding: 'utf8' });
  expect(said).toBe(`node ${join(PROJECT, 'scripts/ready.mjs')}\n`);
  expect(await readFile(installed, 'utf8')).toBe(`program=${join(PROJECT, 'bin/agentos')}\n`);
  expect(step?.env?.['AGENTOS_PROGRAM']).toBe('${{ steps.install.outputs.program }}');

  // Nothing is trusted because it runs in CI.
  expect(await run({})).toMatchObject({ code: 2, stderr: expect.stringContaining('trust') });
  await models.answer('review-lld', '42', review({ verdict: 'DISCUSS', questions: ['Which one?'] }));
  const waits = await run({ args: '--comment --pr --trust --sandbox off' });
  expect(waits, waits.stderr).toMatchObject({ code: 0, stdout: expect.stringContaining('::notice title=agentos::') });
  expect(await outputs()).toMatchObject({ outcome: 'waits', 'exit-code': '3', 'pull-requests': '[]' });

  // A fresh checkout with the cached state folder takes the answer, and resumes what was paid for.
  repository.git('clean', '--quiet', '-fdx', '--exclude=.agentos', '--exclude=agentos.yaml');
  expect(await repository.list('docs')).toEqual([]);
  const answer = github.comment(42, '/agentos approve the first');
  answer.created_at = new Date(Date.now() + 60_000).toISOString();
  const done = await run({ command: 'watch', args: '--comment --pr --trust --sandbox off' });
  expect((await models.calls()).filter((call) => call.endsWith('lld 42'))).toEqual(['lld 42', 'review-lld 42']);
  expect(done, done.stderr).toMatchObject({ code: 0, stdout: '' });
  const now = await outputs();
  expect(now).toMatchObject({ outcome: 'success', 'exit-code': '0' });
  expect(JSON.parse(now['pull-requests'] ?? '')).toEqual(['https://github.com/acme/widget/pull/43']);
  expect(JSON.parse(now['counts'] ?? '')).toMatchObject({ succeeded: 1 });
  const page = await readFile(summary ?? '', 'utf8');
  expect(page).toMatch(/## agentos: waits[^]*## agentos: success[^]*\| 42 \| green \| holds: 3 tests pass/);
  expect(page).not.toMatch(/(?<!\\)@everyone/);
  // Every output that the action promises is written.
  for (const name of Object.keys(action.outputs)) expect(now).toHaveProperty([name]);
});
