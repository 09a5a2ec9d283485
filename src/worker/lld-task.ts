import { codeOf } from '../core/errors.ts';
import { parseItemId } from '../core/ids.ts';
import { isRecordedIssue } from '../offline/tour.ts';
import { createDirectorySource } from '../source/directory.ts';
import { runLld } from '../workflow/lld.ts';
import { shownIssue } from '../workflow/lld-questions.ts';
import { leaveTemplate, unseenReason } from '../workflow/unseen.ts';
import { documentAdapters, tellStarted } from './document-adapters.ts';
import type { ItemInput } from './item-input.ts';
import type { Task } from './task.ts';

/** The LLD workflow as a task: where the adapters of one item are chosen and put together. */
export const lldTask: Task = async (context) => {
  const input = context.input as ItemInput;
  const adapters = await documentAdapters(context, input);
  const issue = await createDirectorySource(adapters.paths.issues).read(parseItemId(input.id));
  tellStarted(context, issue);
  const { drafter, reviewer } = adapters.providers;
  if (drafter.isModel && reviewer.isModel) return runLld({ ...adapters, issue });

  const folder = adapters.paths.lineage(issue.id);
  const isTour = !drafter.isModel && !reviewer.isModel && isRecordedIssue(shownIssue(issue));
  if (!isTour) {
    const template = adapters.prompts.fill('lld-template');
    return leaveTemplate(adapters, { workflow: 'lld', input: issue, template, folder });
  }
  return runLld({ ...adapters, issue }).catch((error: unknown) => {
    if (codeOf(error) !== 'offline-no-reply') throw error;
    return { status: 'discuss', reason: unseenReason('lld', issue.id), outputs: [folder] };
  });
};
