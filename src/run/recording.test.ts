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
import { keptWorktree } from './recording.ts';

const ID = parseItemId('42');
const FAILED = { status: 'failed', error: null } as const;

async function keptProject(placeFlags: string[] = []): Promise<Project> {
  const root = await testFolder();
  const paths = pathsOf(root, `${root}/.agentos`);
  await mkdir(paths.worktree('implement', ID), { recursive: true });
  return { paths, placeFlags } as Project;
}

test('a failed implementation can be discarded with one command, which has the given place flags', async () => {
  const placed = await keptProject(['--repo', "'a b'", '--base-dir', '/x']);
  expect(keptWorktree(placed, ID, FAILED)?.discard).toBe("agentos clean --discard 42 --repo 'a b' --base-dir /x");
  const project = await keptProject();
  expect(keptWorktree(project, ID, FAILED)?.discard).toBe('agentos clean --discard 42');
  expect(keptWorktree(project, parseItemId('43'), FAILED)).toBeNull();
});

test('no command is offered for a worktree that is done or that another run uses', async () => {
  const project = await keptProject();
  for (const status of ['succeeded', 'skipped'] as const)
    expect(keptWorktree(project, ID, { status, error: null }), status).toBeNull();
  const locked = new AgentosError({ code: 'item-locked', id: '42', workflow: 'implement', pid: 1, since: '' });
  expect(keptWorktree(project, ID, { status: 'failed', error: toErrorRecord(locked) })).toBeNull();

  const other = spawn('sh', ['-c', 'read line'], { stdio: ['pipe', 'ignore', 'ignore'] });
  const lock = project.paths.lock('implement', ID);
  await mkdir(dirname(lock), { recursive: true });
  await writeFile(lock, JSON.stringify({ pid: other.pid, processStart: null, since: '' }));
  expect(keptWorktree(project, ID, FAILED)).toBeNull();
  const exit = once(other, 'exit');
  other.stdin.end();
  await exit;
  expect(keptWorktree(project, ID, FAILED)).not.toBeNull();
});
