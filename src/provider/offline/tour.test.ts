import { execFile } from 'node:child_process';
import { cp, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import type { ItemId } from '../../core/ids.ts';
import type { Material } from '../../governance/material.ts';
import { readReview } from '../../governance/review/reader.ts';
import { createDirectorySource } from '../../source/directory.ts';
import type { Issue } from '../../source/port.ts';
import { createOfflineProvider } from './provider.ts';

const REPOSITORY = fileURLToPath(new URL('../../../examples/demo/repository', import.meta.url));

async function readSample(id: string): Promise<{ issue: Issue; paths: string[] }> {
  const issue = await createDirectorySource(join(REPOSITORY, 'issues')).read(id as ItemId);
  const entries = await readdir(REPOSITORY, { recursive: true, withFileTypes: true });
  const paths = entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(REPOSITORY.length + 1));
  return { issue, paths };
}

async function reply(material: Material): Promise<string> {
  const request = {
    role: 'drafter' as const,
    system: '',
    parts: [],
    material,
    stepId: 'draft#1',
    signal: new AbortController().signal,
  };
  return (await createOfflineProvider().complete(request)).text;
}

describe('what was not recorded', () => {
  test('an edited issue gets a scaffold', async () => {
    const { issue, paths } = await readSample('21');
    const recorded = await reply({ task: 'draft', issue, paths });
    const edited = await reply({ task: 'draft', issue: { ...issue, hash: 'another' }, paths });
    expect(recorded).toContain('formatTemperature');
    expect(edited).toContain('A scaffold');
    expect(edited).toContain('Modify');
  });

  test('an edited draft is judged by the checks, not with the recorded words', async () => {
    const { issue, paths } = await readSample('21');
    const draft = (await reply({ task: 'draft', issue, paths })).replace(
      '### Open Questions\nNone.',
      '### Open Questions\n- [ ] Kelvin too?',
    );
    const text = await reply({ task: 'review', issue, draft, round: 1, checks: [], coverage: '' });
    expect(text).toContain('I am the embedded reviewer of agentos');
    expect(readReview(text)).toMatchObject({ verdict: 'DISCUSS', questionsForOrchestrator: ['Kelvin too?'] });
  });
});

test('the tests of the sample repository pass', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'agentos-steep-'));
  await cp(REPOSITORY, directory, { recursive: true });
  const { NODE_TEST_CONTEXT: _, NODE_OPTIONS: __, ...env } = process.env;
  const { stdout } = await promisify(execFile)(process.execPath, ['--test', '--test-reporter=tap'], {
    cwd: directory,
    env,
  });
  expect(stdout).toMatch(/^# pass 10$/m);
  expect(stdout).toMatch(/^# fail 0$/m);
  await rm(directory, { recursive: true });
});
