import { documentDemand } from '../core/expected-cost.ts';
import { requireModels } from '../provider/require-models.ts';
import { createBriefSource } from '../source/briefs.ts';
import { readKnownIssues } from '../source/known-work.ts';
import { issueBacklog } from '../workflow/issue-backlog.ts';
import type { Batch } from './batch.ts';

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
    outputs: () => [],
  },
  nothingToDo: 'every brief has an issue for what it says now',
};
