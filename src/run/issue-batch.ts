import { documentDemand } from '../core/expected-cost.ts';
import { requireModels } from '../models/require-models.ts';
import { createBriefSource } from '../source/briefs.ts';
import { readKnownIssues } from '../source/known-work.ts';
import { issuesOf } from '../workflow/issue-file.ts';
import type { Batch } from './batch.ts';
import { issueBacklog } from './issue-backlog.ts';

export const issueBatch: Batch = {
  workflow: 'issue',
  task: { builtIn: 'issue' },
  roles: ['drafter', 'reviewer'],
  collect: async ({ paths }, ids) =>
    issueBacklog(createBriefSource(paths.briefs), await readKnownIssues(paths.issues), paths, ids),
  requirements: async ({ config }) => requireModels(config, ['drafter', 'reviewer']),
  demand: documentDemand,
  done: {
    reason: 'an issue was written already, from what the brief says now',
    outputs: async ({ paths }, { id }) => {
      const { hash } = await createBriefSource(paths.briefs).read(id);
      const written = issuesOf(id, await readKnownIssues(paths.issues));
      return written.filter(({ fields }) => fields['briefHash'] === hash).map((issue) => paths.issue(issue.id));
    },
  },
  nothingToDo: 'every brief has an issue for what it says now',
};
