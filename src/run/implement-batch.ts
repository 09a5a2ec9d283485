import { readFile } from 'node:fs/promises';
import { missingAgent } from '../agent/programs/missing-agent.ts';
import { AgentosError, toErrorRecord } from '../core/errors.ts';
import { implementDemand } from '../core/expected-cost.ts';
import { wordingOf } from '../core/wording.ts';
import { createGit } from '../git/git.ts';
import { commitFiles } from '../git/repository.ts';
import { branchesNear, branchNameOf } from '../git/worktree/branch.ts';
import { requireModels } from '../models/require-models.ts';
import { createDirectorySource } from '../source/directory.ts';
import { implementationsOf } from '../workflow/implementations.ts';
import type { Batch, CollectedItem } from './batch.ts';
import { implementBacklog } from './implement-backlog.ts';
import type { Project } from './project.ts';

export const implementBatch: Batch = {
  workflow: 'implement',
  task: { builtIn: 'implement' },
  roles: ['implementer', 'reviewer'],
  collect: ({ paths, childEnv, designs }, ids) =>
    implementBacklog(
      {
        paths,
        source: createDirectorySource(paths.issues),
        implementations: (wanted) => implementationsOf(createGit(paths.repository, childEnv), paths, wanted),
        factsOf: (text) => designs.factsOf(text),
      },
      ids,
    ),
  refuse: refuseUnrecorded,
  async requirements({ config, childEnv }) {
    const warnings = requireModels(config, ['implementer', 'reviewer']);
    const missing = await missingAgent(config.models.implementer, childEnv['PATH']);
    if (missing !== null) throw new AgentosError(missing);
    return warnings;
  },
  obstacles: undetectedTests,
  demand: implementDemand,
  done: {
    reason: 'implemented already, for what its LLD says now',
    outputs: async ({ paths, childEnv }, { id, title }) => {
      const first = branchNameOf(id, title);
      const branches = await branchesNear(createGit(paths.repository, childEnv), first);
      return [...branches.keys()].filter((name) => name.replace(/-\d+$/, '') === first || name === first);
    },
  },
  nothingToDo: 'every approved LLD is implemented',
};

/** A design pays for nothing if nobody knows how to prove its code. Where there is no test at all yet, it names the first. */
async function undetectedTests({ paths, config, childEnv }: Project): Promise<string[]> {
  if (config.implement.policy === 'off') return [];
  const git = createGit(paths.repository, childEnv);
  // Loaded when it is needed: no other command of the parent knows test runners.
  const { findTests } = await import('../testing/detect.ts');
  try {
    await findTests(commitFiles(git, 'HEAD'), config.tests, paths.repository);
    return [];
  } catch (error) {
    const { problem } = toErrorRecord(error);
    if (problem.code !== 'tests-undetected') throw error;
    if (problem.script === null && problem.runner === null) return [];
    const { message, hint } = wordingOf(problem);
    return [`Implementations will fail. ${message} ${hint ?? ''}`.trimEnd()];
  }
}

/** `offline` has the code of the recorded tour, if it plays every role, and no other. */
async function refuseUnrecorded({ config, paths }: Project, items: readonly CollectedItem[]): Promise<void> {
  const { implementer, reviewer } = config.models;
  const offline = [implementer, reviewer].filter((spec) => spec.trim() === 'offline').length;
  if (offline === 0 || items.length === 0) return;
  const { recordedCode } = await import('../offline/recorded-code.ts');
  for (const { id } of items) {
    const lld = await readFile(paths.lld(id), 'utf8');
    if (offline === 2 && recordedCode(lld) !== null) continue;
    throw new AgentosError({ code: 'offline-no-code', id, why: 'not-recorded', file: null });
  }
}
