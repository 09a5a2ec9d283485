import { readdir } from 'node:fs/promises';
import type { TestRepository } from '../support/repository.ts';
import { repeatedCalls, undeservedCalls } from './calls.ts';
import { type Facts, faultsDuring } from './facts.ts';
import { brokenFiles, leftBehind } from './files.ts';
import { changesOf, gitStateOf } from './git-state.ts';
import { keysInFiles } from './keys-in-files.ts';
import { missingOutcomes } from './outcomes.ts';
import { disagreements, exitCodeProblems, stateProblems } from './summaries.ts';

/** What has to hold of every run, whatever happened to it; each says what is wrong, or nothing. */
export const INVARIANTS: Record<string, (facts: Facts) => string[] | Promise<string[]>> = {
  'one named state per item': stateProblems,
  'summary agrees with events': disagreements,
  'files whole': brokenFiles,
  'nothing stays behind': leftBehind,
  'no finished call repeated': ({ ground, acts, fired, deletedBefore, scenario }) =>
    repeatedCalls({
      vendor: ground.vendor,
      spoilt: new Set(ground.vendorFaults.filter(({ fault }) => fault !== 'drip').map(({ call }) => call)),
      acts,
      fired,
      deletedBefore,
      parallel: scenario.world.parallel,
    }),
  'no model is blamed for a fault': ({ ground, fired, deletedBefore, scenario }) => {
    // Where files are taken away under the tests, they fail for good reason.
    const isTouched = fired.some(
      ({ fault, outcome }) => outcome === 'fired' && ['delete', 'disk-full', 'read-only'].includes(fault.kind),
    );
    return isTouched || deletedBefore.length > 0 ? [] : undeservedCalls(ground.vendor, scenario.world);
  },
  'nothing left running': ({ leftRunning }) => leftRunning,
  'home and git untouched': async ({ ground, git }) => {
    const home = await readdir(ground.repository.home);
    return [
      ...home.map((name) => `the home holds ${name}`),
      ...changesOf(git, await gitStateOf(ground.repository)),
      ...fsck(ground.repository),
    ];
  },
  'exit code by the contract': exitCodeProblems,
  'every program ends': ({ acts }) =>
    acts.filter(({ killed }) => killed === 'late').map(({ args }) => `${args[0]} did not end, and was killed`),
  'a jump of the clock, or a pause, fails nothing': harmedByTime,
  'times are not negative': ({ acts }) =>
    acts.flatMap(({ events }) =>
      events.flatMap(({ event }) =>
        'durationMs' in event && event.durationMs < 0 ? [`${event.type} took ${event.durationMs} ms`] : [],
      ),
    ),
  'resume ends and all succeed': missingOutcomes,
  'no key in a file': keysInFiles,
};

/** Of programs to which nothing else happened. */
function harmedByTime(facts: Facts): string[] {
  if (facts.scenario.world.isHasty || facts.ground.vendorFaults.length > 0) return [];
  return facts.acts.flatMap((act) => {
    const kinds = faultsDuring(facts, act).map(({ fault }) => fault.kind);
    const isAlone = kinds.length > 0 && kinds.every((kind) => kind === 'clock' || kind === 'stop');
    if (!isAlone || act.events.length === 0 || act.signals.length > 0 || act.code === 0) return [];
    const ends = act.summary?.items.map(({ id, status, error }) => `${id} ${status} ${error?.message ?? ''}`);
    return [`it ended with ${act.code}: ${ends?.join('; ')}`];
  });
}

function fsck(repository: TestRepository): string[] {
  try {
    repository.git('fsck', '--no-dangling', '--no-progress');
    return [];
  } catch (error) {
    return [`git fsck: ${String(error).slice(0, 500)}`];
  }
}
