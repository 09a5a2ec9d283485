import { codeOf } from '../core/errors.ts';
import { parseItemId } from '../core/ids.ts';
import { createDirectorySource } from '../source/directory.ts';
import { shownIssue } from '../source/port.ts';
import { leaveTemplate, noModelReason } from '../workflow/document.ts';
import { runLld } from '../workflow/lld.ts';
import { createAdapters, documentRepository } from './adapters.ts';
import type { Task } from './task.ts';

export const lldTask: Task = async (context) => {
  const adapters = createAdapters(context);
  const { paths, input } = adapters;
  const issue = await createDirectorySource(paths.issues).read(parseItemId(input.id));
  const item = await adapters.start('lld', issue);
  const repository = documentRepository(adapters);
  const [drafted, reviewed] = [item.provider('drafter').isModel, item.provider('reviewer').isModel];
  if (drafted && reviewed) return runLld(item, repository, issue, input.config.size);

  const folder = paths.lineage(issue.id);
  const { isRecordedIssue } = await import('../offline/tour.ts');
  const isTour = !drafted && !reviewed && isRecordedIssue(shownIssue(issue));
  if (!isTour) {
    return leaveTemplate(item, { input: issue, template: item.prompts.fill('lld-template'), folder });
  }
  return runLld(item, repository, issue, input.config.size).catch((error: unknown) => {
    if (codeOf(error) !== 'offline-no-reply') throw error;
    return { status: 'discuss', reason: noModelReason('lld', issue.id), outputs: [folder] };
  });
};
