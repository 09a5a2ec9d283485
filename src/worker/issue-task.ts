import { dirname } from 'node:path';
import { parseItemId } from '../core/ids.ts';
import { createBriefSource } from '../source/briefs.ts';
import { createDirectorySource } from '../source/directory.ts';
import { readApprovedLlds, readKnownIssues } from '../source/known-work.ts';
import { leaveTemplate } from '../workflow/document.ts';
import { type BriefWork, briefFolder, runIssue } from '../workflow/issue.ts';
import { createAdapters, documentRepository } from './adapters.ts';
import type { Task } from './task.ts';

export const issueTask: Task = async (context) => {
  const adapters = createAdapters(context);
  const { paths, input } = adapters;
  const id = parseItemId(input.id);
  const brief = await createBriefSource(paths.briefs).read(id);
  const item = await adapters.start('issue', brief);
  const knownWork: BriefWork['knownWork'] = async () => [
    ...(await readKnownIssues(paths.issues)),
    ...(await readApprovedLlds(dirname(paths.lld(id)))),
  ];
  // No brief is part of the recorded tour.
  if (!item.provider('drafter').isModel || !item.provider('reviewer').isModel) {
    const folder = briefFolder(paths, id, await knownWork());
    return leaveTemplate(item, { input: brief, template: item.prompts.fill('issue-template'), folder });
  }
  const issues = createDirectorySource(paths.issues);
  return runIssue(item, documentRepository(adapters), { brief, issues, knownWork });
};
