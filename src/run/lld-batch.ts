import { documentDemand } from '../core/expected-cost.ts';
import { requireModels } from '../models/require-models.ts';
import { createDirectorySource } from '../source/directory.ts';
import type { Batch } from './batch.ts';
import { lldBacklog } from './lld-backlog.ts';

export const lldBatch: Batch = {
  workflow: 'lld',
  task: { builtIn: 'lld' },
  roles: ['drafter', 'reviewer'],
  collect: ({ paths }, ids) =>
    lldBacklog(createDirectorySource(paths.issues), paths, ids, async (issue, hash) => {
      // Most backlogs have no issue that changed.
      const { issueDifference } = await import('./issue-change.ts');
      return issueDifference(paths.lineage(issue.id), issue, hash);
    }),
  requirements: async ({ config }) => requireModels(config, ['drafter', 'reviewer']),
  demand: documentDemand,
  done: {
    reason: 'approved already, for what the issue says now',
    outputs: async ({ paths }, { id }) => [paths.lld(id)],
  },
  nothingToDo: 'every issue has an approved LLD for what it says now',
};
