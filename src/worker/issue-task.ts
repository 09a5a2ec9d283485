import { dirname } from 'node:path';
import { parseItemId } from '../core/ids.ts';
import { createBriefSource } from '../source/briefs.ts';
import { createDirectorySource } from '../source/directory.ts';
import { readApprovedLlds, readKnownIssues } from '../source/known-work.ts';
import { briefFolder, type IssueDependencies, runIssue } from '../workflow/issue.ts';
import { leaveTemplate } from '../workflow/unseen.ts';
import { documentAdapters, tellStarted } from './document-adapters.ts';
import type { ItemInput } from './item-input.ts';
import type { Task } from './task.ts';

/** The issue workflow as a task: where the adapters of one item are chosen and put together. */
export const issueTask: Task = async (context) => {
  const input = context.input as ItemInput;
  const id = parseItemId(input.id);
  const adapters = await documentAdapters(context, input);
  const { paths } = adapters;
  const brief = await createBriefSource(paths.briefs).read(id);
  tellStarted(context, brief);
  const knownWork: IssueDependencies['knownWork'] = async () => [
    ...(await readKnownIssues(paths.issues)),
    ...(await readApprovedLlds(dirname(paths.lld(id)))),
  ];
  const { drafter, reviewer } = adapters.providers;
  // No brief is part of the recorded tour.
  if (!drafter.isModel || !reviewer.isModel) {
    const template = adapters.prompts.fill('issue-template');
    const folder = briefFolder(paths, id, await knownWork());
    return leaveTemplate(adapters, { workflow: 'issue', input: brief, template, folder });
  }
  return runIssue({ ...adapters, brief, issues: createDirectorySource(paths.issues), knownWork });
};
