import type { Act, Fired } from './act.ts';
import type { GitState } from './git-state.ts';
import type { Ground } from './ground.ts';
import type { Deletable, Scenario } from './scenario.ts';

/** All that is known of a run when it is over. */
export interface Facts {
  scenario: Scenario;
  ground: Ground;
  /** Every start of the program, the second programs included. */
  acts: Act[];
  /** Those after the faults had stopped. */
  resumed: Act[];
  fired: Fired[];
  deletedBefore: { what: Deletable; atMs: number }[];
  /** Before the first start. */
  git: GitState;
  /** Seen when a program had ended and its processes had had time to end too. */
  leftRunning: string[];
}

/** The faults that met this start of the program. */
export function faultsDuring({ fired }: Pick<Facts, 'fired'>, act: Act): Fired[] {
  return fired.filter(
    ({ outcome, fromMs, toMs }) => outcome === 'fired' && fromMs <= act.endedAtMs && toMs >= act.startedAtMs,
  );
}

/** Whether its files could not be written, or were deleted. */
export function lostFiles(facts: Pick<Facts, 'fired'>, act: Act): boolean {
  return faultsDuring(facts, act).some(({ fault }) => ['disk-full', 'read-only', 'delete'].includes(fault.kind));
}
