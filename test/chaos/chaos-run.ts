import { cp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Fired } from './act.ts';
import { scenarioOf } from './choose.ts';
import { describeFault } from './describe.ts';
import type { Facts } from './facts.ts';
import { gitStateOf } from './git-state.ts';
import { type Abilities, type Ground, prepareGround, writeNote } from './ground.ts';
import { INVARIANTS } from './invariants.ts';
import { playAct, resumeUntilDone } from './play.ts';
import type { Scenario } from './scenario.ts';

const AT_ONCE = 2;
const ACTS_MS = 25_000;

interface Violation {
  invariant: string;
  facts: string[];
}

export interface ChaosResult {
  scenario: Scenario;
  violations: Violation[];
  fired: Fired[];
  resumes: number;
  durationMs: number;
  /** Kept where something is wrong. */
  folder: string | null;
}

export interface ChaosOptions {
  can: Abilities;
  onResult: (result: ChaosResult) => void;
  /** Ends everything that was started, and cleans up. */
  signal: AbortSignal;
}

/** A run for each seed, a few at a time. */
export async function chaosRuns(seeds: readonly number[], options: ChaosOptions): Promise<ChaosResult[]> {
  const results: ChaosResult[] = [];
  const left = [...seeds];
  const workOff = async (): Promise<void> => {
    for (let seed = left.shift(); seed !== undefined && !options.signal.aborted; seed = left.shift()) {
      const result = await chaosRun(seed, options);
      // A run that was broken off says nothing.
      if (options.signal.aborted) return;
      results.push(result);
      options.onResult(result);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, workOff));
  return results;
}

/** One run: the world and the faults that its seed says, then resumes until it ends, then the invariants. */
async function chaosRun(seed: number, { can, signal }: ChaosOptions): Promise<ChaosResult> {
  const startedAt = performance.now();
  const scenario = scenarioOf(seed);
  const ground = await prepareGround(scenario, can);
  const facts: Facts = {
    scenario,
    ground,
    acts: [],
    resumed: [],
    fired: [],
    deletedBefore: [],
    git: await gitStateOf(ground.repository),
    leftRunning: [],
  };
  const violations: Violation[] = [];
  try {
    for (const plan of scenario.acts) {
      // On a slow machine the acts that are left are not played: a run has to end.
      if (performance.now() - startedAt < ACTS_MS) await playAct(plan, facts, { can, signal });
    }
    await resumeUntilDone(facts, signal);
    for (const invariant of Object.keys(INVARIANTS)) {
      const problems = await problemsIn(invariant, facts);
      if (problems.length > 0) violations.push({ invariant, facts: problems });
    }
  } catch (error) {
    const said = error instanceof Error ? (error.stack ?? error.message) : String(error);
    if (!signal.aborted) violations.push({ invariant: 'the driver works', facts: [said] });
  }
  await ground.vendor.close();
  await clear(ground, facts, violations);
  return {
    scenario,
    violations,
    fired: facts.fired,
    resumes: facts.resumed.length,
    durationMs: performance.now() - startedAt,
    folder: violations.length === 0 ? null : ground.folder,
  };
}

async function problemsIn(invariant: string, facts: Facts): Promise<string[]> {
  try {
    return (await INVARIANTS[invariant]?.(facts)) ?? [];
  } catch (error) {
    // Git may refuse to work in a repository that was left broken.
    return [`it can't be checked: ${String(error)}`];
  }
}

/** Keeps the folder, with what was seen, where something is wrong. */
async function clear(ground: Ground, facts: Facts, violations: readonly Violation[]): Promise<void> {
  if (violations.length === 0) {
    await rm(ground.folder, { recursive: true, force: true });
    await rm(ground.work, { recursive: true, force: true });
  } else {
    if (ground.disk !== null) await cp(ground.disk.folder, join(ground.folder, 'disk'), { recursive: true });
    const { scenario, acts } = facts;
    const fired = facts.fired.map((one) => ({ name: describeFault(one.fault), ...one }));
    await writeNote(ground, 'chaos.json', `${JSON.stringify({ violations, fired, scenario }, null, 2)}\n`);
    for (const [index, { args, code, signal, killed, stdout, stderr }] of acts.entries()) {
      const head = `${args.join(' ')}\nended: ${code ?? signal}, killed: ${killed}\n`;
      await writeNote(ground, `act-${index + 1}.txt`, `${head}\n${stdout}\n${stderr}`);
    }
  }
  ground.disk?.unmount();
}
