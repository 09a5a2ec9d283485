import { execFile } from 'node:child_process';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import type { ItemId } from '../core/ids.ts';
import type { ModelReply } from '../models/port.ts';
import { tagged } from '../prompts/tags.ts';
import { createDirectorySource } from '../source/directory.ts';

import { createOfflineProvider, isRecordedIssue } from './tour.ts';

const REPOSITORY = fileURLToPath(new URL('../../examples/demo/repository', import.meta.url));

async function shown(id: string): Promise<string> {
  const { title, body } = await createDirectorySource(join(REPOSITORY, 'issues')).read(id as ItemId);
  return `# ${title}\n\n${body}`;
}

function reply(
  step: string,
  material: Record<string, string>,
  signal = new AbortController().signal,
): Promise<ModelReply> {
  const inFolder = (): never => expect.unreachable('the tour is no program');
  const parts = Object.entries(material).map(([tag, text]) => ({ text: tagged(tag, text) }));
  return createOfflineProvider().complete({
    role: 'drafter',
    system: '',
    parts,
    stepId: `${step}#1`,
    signal,
    inFolder,
  });
}

const NOTHING = { problem: { code: 'offline-no-reply' } };

test('it is no model, costs nothing and answers the same every time', async () => {
  const { spec, isModel } = createOfflineProvider();
  expect({ spec, isModel }).toEqual({ spec: 'offline', isModel: false });
  const issue = await shown('21');
  const first = await reply('draft', { issue });
  expect(first).toMatchObject({ asked: 'offline', answered: 'offline', substituted: false, metered: true });
  expect(first.text).toContain('formatTemperature');
  expect(Object.values(first.usage)).toEqual([0, 0, 0, 0]);
  expect(await reply('draft', { issue })).toEqual(first);
});

test('a call that was cancelled before it began fails with the reason', async () => {
  const reason = new Error('stopped');
  await expect(reply('draft', { issue: await shown('21') }, AbortSignal.abort(reason))).rejects.toBe(reason);
});

test('an edited issue has no recording', async () => {
  const issue = await shown('21');
  expect(isRecordedIssue(issue)).toBe(true);
  expect(isRecordedIssue(`${issue}\n- One more criterion.`)).toBe(false);
  await expect(reply('draft', { issue: `${issue}\n- One more criterion.` })).rejects.toMatchObject(NOTHING);
});

test('a draft that somebody edited is never judged with the recorded words', async () => {
  const issue = await shown('21');
  const { text: draft } = await reply('draft', { issue });
  expect((await reply('review-1', { issue, draft })).text).toContain('I am the recorded reviewer of the agentos tour');
  const edited = draft.replace('### Open Questions\nNone.', '### Open Questions\n- [ ] Kelvin too?');
  await expect(reply('review-1', { issue, draft: edited })).rejects.toMatchObject(NOTHING);
  for (const step of ['review-2', 'review-1-again', 'revise-1', 'repair-1-1'])
    await expect(reply(step, { issue, draft }), step).rejects.toMatchObject(NOTHING);
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
