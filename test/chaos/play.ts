import { globSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { processesWith } from '../support/processes.ts';
import { type Act, type Fired, type Running, startAct } from './act.ts';
import type { Facts } from './facts.ts';
import { deleteState, inject, type Stage } from './faults.ts';
import type { Abilities, Ground } from './ground.ts';
import type { ActPlan, Fault } from './scenario.ts';
import { sendSignal } from './targets.ts';

/** A program with faults is asked to end after this, and killed if it does not. */
const PATIENCE_MS = 20_000;
const END_MS = 8_000;
const RESUME_MS = 30_000;
const MOST_RESUMES = 3;
/** From a program's end until everything that it started has ended too. */
const SETTLE_MS = 3_000;

/** Starts the program once, with the faults of this act, and waits until all is over. */
export async function playAct(
  { how, deleted, faults, end }: ActPlan,
  facts: Facts,
  { can, signal }: { can: Abilities; signal: AbortSignal },
): Promise<void> {
  const { ground, scenario } = facts;
  signal.throwIfAborted();
  if (deleted !== null) {
    facts.deletedBefore.push({ what: deleted, atMs: Date.now() });
    await deleteState(ground, deleted);
  }
  const hasty = scenario.world.isHasty ? ['--idle-timeout', '2s'] : [];
  const byRun = how === 'resume' && scenario.resumeWith === 'resume' && hasRun(ground);
  const command = byRun ? ['resume'] : ground.command;
  const program = startAct(ground, [...command, ...hasty]);
  const stage: Stage = {
    ground,
    program,
    can,
    others: [],
    startBeside: (args) => {
      const other = startAct(ground, args);
      stage.others.push(other);
      return bounded(other, PATIENCE_MS, signal);
    },
  };
  const [, fired] = await Promise.all([
    bounded(program, PATIENCE_MS, signal),
    // What was mounted, stopped or started is over before anything else happens, also when something goes wrong.
    Promise.allSettled(injectAll(faults, end, stage)),
  ]);
  signal.throwIfAborted();
  for (const injected of fired) {
    if (injected.status === 'rejected') throw injected.reason;
    const done = injected.value;
    // A program that has its journals open works with what was deleted until its end.
    facts.fired.push(done.fault.kind === 'delete' ? { ...done, toMs: program.act.endedAtMs } : done);
  }
  facts.acts.push(program.act, ...stage.others.map(({ act }) => act));
  await lookForLeftovers(facts);
}

/** What ends the act comes when all the others have begun. */
function injectAll(faults: readonly Fault[], end: Fault | null, stage: Stage): Promise<Fired>[] {
  const begun = faults.map(() => Promise.withResolvers<void>());
  const injected = faults.map((fault, index) => inject(fault, stage, () => begun[index]?.resolve()));
  if (end === null) return injected;
  const last = Promise.all(begun.map(({ promise }) => promise)).then(() => inject(end, stage, () => undefined));
  return [...injected, last];
}

/** After the faults have stopped: until everything that was asked for is done, at most a few times. */
export async function resumeUntilDone(facts: Facts, signal: AbortSignal): Promise<void> {
  const { ground, scenario } = facts;
  for (let resume = 1; resume <= MOST_RESUMES; resume++) {
    signal.throwIfAborted();
    // `resume` takes up one run; the command itself takes up all that it names.
    const byRun = scenario.resumeWith === 'resume' && resume === 1 && hasRun(ground);
    const patient = scenario.world.isHasty ? ['--idle-timeout', '1m'] : [];
    const program = startAct(ground, [...(byRun ? ['resume'] : ground.command), ...patient]);
    const act = await bounded(program, RESUME_MS, signal);
    facts.acts.push(act);
    facts.resumed.push(act);
    await lookForLeftovers(facts);
    if (act.code === 0 && !byRun) return;
  }
}

/** Whether there is anything for `agentos resume`. */
function hasRun({ state }: Ground): boolean {
  return globSync('runs/*/run.json', { cwd: state }).length > 0;
}

/** Waits for its end: SIGTERM when it takes too long, SIGKILL when that does not help. */
async function bounded(program: Running, patienceMs: number, signal: AbortSignal): Promise<Act> {
  const stop = (): void => sendSignal(program.pid, 'SIGKILL');
  signal.addEventListener('abort', stop, { once: true });
  try {
    if (await endsWithin(program, patienceMs)) return program.act;
    program.act.signals.push({ signal: 'SIGTERM', isHeard: true });
    sendSignal(program.pid, 'SIGTERM');
    if (await endsWithin(program, END_MS)) return program.act;
    program.act.killed = 'late';
    sendSignal(program.pid, 'SIGKILL');
    return await program.ended;
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

async function endsWithin(program: Running, ms: number): Promise<boolean> {
  const timer = new AbortController();
  const late = sleep(ms, null, { signal: timer.signal }).catch(() => null);
  await Promise.race([program.ended, late]);
  timer.abort();
  return program.hasEnded();
}

/** By the tag that they all carry, or by the run whose orphans they end. */
async function lookForLeftovers({ ground, acts, leftRunning }: Facts): Promise<void> {
  const runs = acts.flatMap(({ events }) =>
    events.flatMap(({ event }) => (event.type === 'run-started' ? [event.runId] : [])),
  );
  const find = (): number[] => [...new Set([ground.tag, ...runs].flatMap((text) => processesWith(text)))];
  const until = performance.now() + SETTLE_MS;
  while (find().length > 0 && performance.now() < until) await sleep(20);
  for (const pid of find()) {
    leftRunning.push(`${pid}: ${commandOf(pid)}`);
    sendSignal(pid, 'SIGKILL');
  }
}

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').slice(0, 200);
  } catch {
    return 'it has ended meanwhile';
  }
}
