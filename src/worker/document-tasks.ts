import { dirname } from 'node:path';
import { codeOf } from '../core/errors.ts';
import { parseItemId } from '../core/ids.ts';
import { readHeader } from '../documents/header.ts';
import { createDirectorySource } from '../source/directory.ts';
import { readApprovedLlds, readKnownIssues } from '../source/known-work.ts';
import { shownIssue } from '../source/port.ts';
import { leaveTemplate, noModelReason } from '../workflow/document.ts';
import { type BriefWork, briefFolder, runIssue } from '../workflow/issue.ts';
import { runLld } from '../workflow/lld.ts';
import { documentRepository, issueIn, itemTask } from './adapters.ts';

export const lldTask = itemTask('lld', async (adapters) => {
  const { paths, input } = adapters;
  const issue = issueIn(input);
  const item = await adapters.start(issue);
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
});

export const issueTask = itemTask('issue', async (adapters) => {
  const { paths, input } = adapters;
  const id = parseItemId(input.id);
  const brief = issueIn(input);
  const item = await adapters.start(brief);
  const knownWork: BriefWork['knownWork'] = async () => [
    ...(await readKnownIssues(paths.issues)),
    ...(await readApprovedLlds(dirname(paths.lld(id)))),
    ...(input.existing ?? []).map(({ id: other, title, body }) => {
      return { id: other, title, text: body, kind: 'issue' as const, header: readHeader('').header };
    }),
  ];
  // No brief is part of the recorded tour.
  if (!item.provider('drafter').isModel || !item.provider('reviewer').isModel) {
    const folder = briefFolder(paths, id, await knownWork());
    return leaveTemplate(item, { input: brief, template: item.prompts.fill('issue-template'), folder });
  }
  const issues = createDirectorySource(paths.issues);
  const isCreatedElsewhere = input.config.remote.create;
  return runIssue(item, documentRepository(adapters), { brief, issues, isCreatedElsewhere, knownWork });
});
