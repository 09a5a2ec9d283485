import { dirname } from 'node:path';
import type { ReadableFiles } from '../agent/tools.ts';
import { codeOf } from '../core/errors.ts';
import { parseItemId } from '../core/ids.ts';
import { readHeader } from '../documents/header.ts';
import { type BaseCommit, headCommit, openCommit } from '../git/repository.ts';
import { createDirectorySource, parseIssue, readApprovedLlds, readKnownIssues } from '../source/directory.ts';
import { type Issue, shownIssue } from '../source/port.ts';
import { type DocumentRepository, leaveTemplate, noModelReason } from '../workflow/document.ts';
import { type BriefWork, briefFolder, runIssue } from '../workflow/issue.ts';
import { runLld } from '../workflow/lld.ts';
import { replayCase } from '../workflow/replay.ts';
import { type Adapters, type ItemInput, itemTask } from './adapters.ts';

export const lldTask = itemTask('lld', async (adapters) => {
  const { paths, input } = adapters;
  const issue = issueIn(input);
  const item = await adapters.start(issue);
  const repository = documentRepository(adapters);
  const models = [item.provider('drafter'), item.provider('reviewer')].filter(({ isModel }) => isModel);
  if (models.length === 2) return runLld(item, repository, issue, input.config.size);

  const folder = paths.lineage(issue.id);
  const { isRecordedIssue } = await import('../offline/tour.ts');
  if (models.length === 1 || !isRecordedIssue(shownIssue(issue)))
    return leaveTemplate(item, { input: issue, template: item.prompts.fill('lld-template'), folder });
  return runLld(item, repository, issue, input.config.size).catch((error: unknown) => {
    if (codeOf(error) !== 'offline-no-reply') throw error;
    return { status: 'discuss', reason: noModelReason('lld', issue.id), outputs: [folder] };
  });
});

export const issueTask = itemTask('issue', async (adapters) => {
  const { paths, input, id } = adapters;
  const brief = issueIn(input);
  const item = await adapters.start(brief);
  const known: BriefWork['known'] = [
    ...(await readKnownIssues(paths.issues)),
    ...(await readApprovedLlds(dirname(paths.lld(id)))),
    ...(input.existing ?? []).map(({ id: other, title, body }) => {
      return { id: other, title, text: body, kind: 'issue' as const, header: readHeader('').header };
    }),
  ];
  // No brief is part of the recorded tour.
  if (!item.provider('drafter').isModel || !item.provider('reviewer').isModel) {
    const folder = briefFolder(paths, id, known);
    return leaveTemplate(item, { input: brief, template: item.prompts.fill('issue-template'), folder });
  }
  const issues = createDirectorySource(paths.issues);
  const isCreatedElsewhere = input.config.remote.create;
  return runIssue(item, documentRepository(adapters), { brief, issues, isCreatedElsewhere, known });
});

export const evalTask = itemTask('eval', async (adapters) => {
  const { input } = adapters;
  const { replay, config } = input;
  if (replay === undefined) throw new TypeError('an evaluation without a case');
  const { past } = replay;
  const issue = parseIssue(parseItemId(past.case.split('/')[0] ?? ''), past.issue);
  const item = await adapters.start({ title: `${issue.title} · ${replay.candidate}`, hash: issue.hash });
  try {
    const result = await replayCase(item, documentRepository(adapters), { ...replay, issue, size: config.size });
    return { ...result, keepsCheckpoint: true };
  } catch (error) {
    if (codeOf(error) !== 'offline-no-reply') throw error;
    return { status: 'skipped', reason: 'the recorded tour has no reply for it', outputs: [] };
  }
});

function issueIn({ issue, id }: ItemInput): Issue {
  if (issue === undefined) throw new TypeError(`${id} has no input`);
  return issue;
}

/** Each commit is opened once. */
function documentRepository({ git, input, mask, repositoryContext }: Adapters): DocumentRepository {
  let shown: { commit: string; files: Pick<ReadableFiles, 'read'> } | null = null;
  const commits = new Map<string, Promise<BaseCommit>>();
  const open = (commit: string): Promise<BaseCommit> => {
    const opened = commits.get(commit) ?? openCommit(git, commit);
    commits.set(commit, opened);
    return opened;
  };
  return {
    headCommit: () => headCommit(git),
    open,
    async shownText(commit, path) {
      if (shown?.commit !== commit) {
        const { readableCommit } = await import('../agent/explore.ts');
        shown = { commit, files: readableCommit(git, commit, input.config.context.exclude) };
      }
      // A file that models must not see can't be read.
      return shown.files.read(path).then(
        ({ text }) => mask(text),
        () => null,
      );
    },
    contextFor: async (commit, asked) => (await repositoryContext(commit, asked)).text,
  };
}
