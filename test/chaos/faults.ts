import { existsSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Fired, Running } from './act.ts';
import type { Abilities, Ground } from './ground.ts';
import { makeReadOnly } from './read-only.ts';
import type { Deletable, Fault, ReadOnly } from './scenario.ts';
import { findTargets, isListening, sendSignal, type Target } from './targets.ts';

const LOOK_EVERY_MS = 5;
/** How long a process of the wanted kind is looked for; most live for a tenth of a second. */
const LOOK_FOR_MS = 3_000;

export interface Stage {
  ground: Ground;
  program: Running;
  can: Abilities;
  /** Programs that run beside the first. */
  others: Running[];
  /** Starts one; resolves at its end. */
  startBeside: (args: string[]) => Promise<unknown>;
}

type Done = { outcome: Fired['outcome']; why?: string };

/** Waits for the fault's moment, does it, and ends it again. Resolves when that is over; `onBegun` has been called then. */
export async function inject(fault: Fault, stage: Stage, onBegun: () => void): Promise<Fired> {
  const fired: Fired = { fault, outcome: 'missed', why: 'the program had ended', fromMs: 0, toMs: 0 };
  try {
    if (!(await stage.program.reached(fault.moment))) return fired;
    fired.fromMs = Date.now();
    const { outcome, why = '' } = await perform(fault, stage, onBegun);
    return { ...fired, outcome, why, toMs: Date.now() };
  } finally {
    onBegun();
  }
}

async function perform(fault: Fault, stage: Stage, onBegun: () => void): Promise<Done> {
  const { ground, program } = stage;
  switch (fault.kind) {
    case 'kill':
      return withTarget(program, fault, (pid) => {
        if (fault.whom === 'parent') program.act.killed = 'fault';
        sendSignal(pid, 'SIGKILL');
      });
    case 'stop':
      return withTarget(program, fault, async (pid) => {
        sendSignal(pid, 'SIGSTOP');
        onBegun();
        await sleep(fault.forMs);
        sendSignal(pid, 'SIGCONT');
      });
    case 'signal':
      return sendSignals(fault.signals, fault.gapMs, program);
    case 'kill-git': {
      if (ground.gitTrap === null) return { outcome: 'skipped', why: 'no trap' };
      await ground.gitTrap.arm(fault.verb, fault.how);
      while (!program.hasEnded() && !ground.gitTrap.isSprung()) await sleep(LOOK_EVERY_MS);
      const sprung = ground.gitTrap.isSprung();
      onBegun();
      await program.ended;
      await ground.gitTrap.disarm();
      return sprung ? { outcome: 'fired' } : { outcome: 'missed', why: `no git ${fault.verb}` };
    }
    case 'disk-full': {
      if (ground.disk === null) return { outcome: 'skipped', why: "can't mount" };
      const free = ground.disk.fill();
      onBegun();
      await untilEnd(stage, fault.forMs);
      free();
      return { outcome: 'fired' };
    }
    case 'read-only': {
      if (!stage.can.mount) return { outcome: 'skipped', why: "can't mount" };
      const folder = placeOf(ground, fault.what);
      if (!existsSync(folder)) return { outcome: 'missed', why: `no ${fault.what}` };
      const undo = makeReadOnly(folder);
      onBegun();
      await untilEnd(stage, fault.forMs);
      undo();
      return { outcome: 'fired' };
    }
    case 'delete': {
      const isDeleted = await deleteState(ground, fault.what);
      return isDeleted ? { outcome: 'fired' } : { outcome: 'missed', why: `no ${fault.what}` };
    }
    case 'second-program': {
      const ended = stage.startBeside(fault.command === 'same' ? ground.command : ['clean']);
      onBegun();
      await ended;
      return { outcome: 'fired' };
    }
    case 'clock':
      if (ground.clock === null) return { outcome: 'skipped', why: 'no libfaketime' };
      await ground.clock.jump(fault.bySeconds);
      return { outcome: 'fired' };
  }
}

async function withTarget(
  program: Running,
  { whom, which }: { whom: Target; which: number },
  deed: (pid: number) => void | Promise<void>,
): Promise<Done> {
  const until = performance.now() + LOOK_FOR_MS;
  while (!program.hasEnded() && performance.now() < until) {
    const found = findTargets(program.pid, whom);
    const pid = found[which % found.length];
    if (pid !== undefined) {
      await deed(pid);
      return { outcome: 'fired' };
    }
    await sleep(LOOK_EVERY_MS);
  }
  return { outcome: 'missed', why: `no ${whom}` };
}

async function sendSignals(signals: readonly NodeJS.Signals[], gapMs: number, program: Running): Promise<Done> {
  for (const [index, signal] of signals.entries()) {
    if (index > 0) await Promise.race([program.ended, sleep(gapMs)]);
    if (program.hasEnded())
      return index === 0 ? { outcome: 'missed', why: 'the program had ended' } : { outcome: 'fired' };
    program.act.signals.push({ signal, isHeard: isListening(program.pid) });
    sendSignal(program.pid, signal);
  }
  return { outcome: 'fired' };
}

async function untilEnd({ program, others }: Stage, forMs: number | null): Promise<void> {
  const all = (): Promise<unknown> => Promise.all([program, ...others].map(({ ended }) => ended));
  await (forMs === null ? all() : Promise.race([all(), sleep(forMs)]));
}

function placeOf({ repository, state }: Ground, what: ReadOnly): string {
  switch (what) {
    case 'docs':
    case 'issues':
      return join(repository.root, what);
    case 'git':
      return join(repository.root, '.git');
    case 'state':
      return state;
    case 'locks':
    case 'checkpoints':
    case 'runs':
      return join(state, what);
  }
}

/** Whether there was anything to delete. */
export async function deleteState({ state, work }: Ground, what: Deletable): Promise<boolean> {
  const parent = what === 'worktrees' ? work : state;
  const path = what === 'all' ? state : what === 'run-record' ? await newestRecord(state) : join(parent, what);
  if (path === null || !existsSync(path)) return false;
  // A program at work may put something there meanwhile.
  await rm(path, { recursive: true, force: true, maxRetries: 3, retryDelay: 10 }).catch(() => undefined);
  return true;
}

async function newestRecord(state: string): Promise<string | null> {
  const runs = await readdir(join(state, 'runs')).catch(() => [] as string[]);
  const newest = runs.sort().at(-1);
  return newest === undefined ? null : join(state, 'runs', newest, 'run.json');
}
