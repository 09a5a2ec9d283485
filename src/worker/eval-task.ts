import { codeOf } from '../core/errors.ts';
import { parseItemId } from '../core/ids.ts';
import { parseIssue } from '../source/directory.ts';
import { replayCase } from '../workflow/replay.ts';
import { documentRepository, itemTask } from './adapters.ts';

export const evalTask = itemTask('eval', async (adapters) => {
  const { input } = adapters;
  const { replay, config } = input;
  if (replay === undefined) throw new TypeError('an evaluation without a case');
  const { past } = replay;
  const issue = parseIssue(parseItemId(past.case.split('/')[0] ?? ''), past.issue);
  const item = await adapters.start({
    id: parseItemId(input.id),
    title: `${issue.title} · ${replay.candidate}`,
    hash: issue.hash,
  });
  try {
    const result = await replayCase(item, documentRepository(adapters), { ...replay, issue, size: config.size });
    return { ...result, keepsCheckpoint: true };
  } catch (error) {
    if (codeOf(error) !== 'offline-no-reply') throw error;
    return { status: 'skipped', reason: 'the recorded tour has no reply for it', outputs: [] };
  }
});
