import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { expect, test } from 'vitest';
import { testFolder } from '../../test/support/folder.ts';
import { AgentosError, toErrorRecord } from '../core/errors.ts';
import { parseItemId } from '../core/ids.ts';
import { pathsOf } from '../core/paths.ts';
import type { Project } from './project.ts';
import { keptOf } from './run-record.ts';

const ID = parseItemId('42');
const FAILED = { status: 'failed', error: null } as const;

async function keptProject(): Promise<Project> {
  const root = await testFolder();
  const paths = pathsOf(root, `${root}/.agentos`);
  await mkdir(paths.worktree('implement', ID), { recursive: true });
  return { paths } as Project;
}

test('what failed can be thrown away with one command, in the place that was given', async () => {
  const project = await keptProject();
  const flags = ['--drafter', 'offline', '--repo', "'a b'", '--base-dir', '/x', '--until', 'lld', '--offline'];
  expect(keptOf(project, ID, FAILED, flags)?.discard).toBe("agentos clean --discard 42 --repo 'a b' --base-dir /x");
  expect(keptOf(project, ID, FAILED, [])?.discard).toBe('agentos clean --discard 42');
  expect(keptOf(project, parseItemId('43'), FAILED, [])).toBeNull();
});

test('what is done, or another run’s, is nobody’s to throw away', async () => {
  const project = await keptProject();
  for (const status of ['succeeded', 'skipped'] as const)
    expect(keptOf(project, ID, { status, error: null }, []), status).toBeNull();
  const locked = new AgentosError({ code: 'item-locked', id: '42', workflow: 'implement', pid: 1, since: '' });
  expect(keptOf(project, ID, { status: 'failed', error: toErrorRecord(locked) }, [])).toBeNull();

  const other = spawn('sh', ['-c', 'read line'], { stdio: ['pipe', 'ignore', 'ignore'] });
  const lock = project.paths.lock('implement', ID);
  await mkdir(dirname(lock), { recursive: true });
  await writeFile(lock, JSON.stringify({ pid: other.pid, processStart: null, since: '' }));
  expect(keptOf(project, ID, FAILED, [])).toBeNull();
  const exit = once(other, 'exit');
  other.stdin.end();
  await exit;
  expect(keptOf(project, ID, FAILED, [])).not.toBeNull();
});
