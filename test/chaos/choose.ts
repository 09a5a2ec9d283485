import { type Dice, diceOf } from './dice.ts';
import {
  type ActPlan,
  DELETABLE,
  type Fault,
  type FaultKind,
  type Moment,
  READ_ONLY,
  type Scenario,
  VENDOR_FAULTS,
  type World,
} from './scenario.ts';

/** Everything about a run that is chosen, from its seed alone. */
export function scenarioOf(seed: number): Scenario {
  const dice = diceOf(seed);
  const world = chooseWorld(dice);
  const acts: ActPlan[] = [];
  const count = dice.weighted({ '1': 4, '2': 4, '3': 2 });
  for (let act = 0; act < Number(count); act++) {
    const faults = [chooseFault(dice, world)];
    while (faults.length < 3 && dice.chance(0.35)) faults.push(chooseFault(dice, world));
    acts.push({
      how: act === 0 ? 'start' : 'resume',
      deleted: act > 0 && dice.chance(0.12) ? dice.pick(DELETABLE) : null,
      faults: compatible(faults),
      end: act + 1 < Number(count) ? chooseEnd(dice) : null,
    });
  }
  const vendorFaults: Scenario['vendorFaults'] = [];
  if (dice.chance(0.4)) {
    const most = dice.between(1, 4);
    for (let n = 0; n < most; n++) vendorFaults.push([dice.between(0, 14), dice.pick(VENDOR_FAULTS)]);
  }
  const kinds = new Set(acts.flatMap(({ faults }) => faults.map(({ kind }) => kind)));
  if (kinds.has('disk-full'))
    world.smallDisk = dice.pick(world.state === 'outside' ? ['repository', 'state'] : ['repository']);
  return { seed, world, acts, vendorFaults, resumeWith: dice.pick(['resume', 'same']) };
}

function chooseWorld(dice: Dice): World {
  const workflow = dice.weighted({ lld: 4, implement: 4, run: 2, issue: 1.5 });
  const writesCode = workflow === 'implement' || workflow === 'run';
  const first = dice.between(3, 60);
  const count = dice.between(2, writesCode ? 3 : 6);
  const ids = Array.from({ length: count }, (_, index) =>
    workflow === 'issue' ? `brief-${index + 1}` : String(first + index * 3),
  );
  return {
    workflow,
    ids,
    all: dice.chance(0.4),
    models: dice.pick(['command', 'vendor']),
    keys: dice.between(1, 3),
    parallel: dice.between(1, 3),
    revised: ids.filter(() => dice.chance(0.3)),
    latencyMs: dice.pick([0, 20, 80, 200]),
    isHasty: dice.chance(0.15),
    state: dice.chance(0.25) ? 'outside' : 'inside',
    smallDisk: 'nothing',
  };
}

const DOCUMENT_EVENTS = [
  'run-started',
  'item-started',
  'step-started draft',
  'model-answered draft',
  'step-finished draft',
  'file-written',
  'step-started review-1',
  'model-answered review-1',
  'step-finished review-1',
  'item-finished',
  'run-finished',
] as const;

const CODE_EVENTS = [
  'run-started',
  'item-started',
  'step-started baseline',
  'step-started tests-1',
  'model-answered tests-1',
  'step-finished tests-1',
  'step-started red-1',
  'step-started commit-tests',
  'step-finished commit-tests',
  'committed',
  'step-started code-1',
  'model-answered code-1',
  'step-started green-1',
  'step-started reverse-1',
  'step-started review-1',
  'model-answered review-1',
  'step-started commit-code',
  'step-finished commit-report',
  'item-finished',
  'run-finished',
] as const;

function chooseMoment(dice: Dice, { workflow, ids }: World): Moment {
  const writesCode = workflow === 'implement' || workflow === 'run';
  if (dice.chance(0.35)) return { event: null, nth: 1, plusMs: dice.between(0, writesCode ? 5_000 : 2_000) };
  const events = workflow === 'implement' || (workflow === 'run' && dice.chance(0.6)) ? CODE_EVENTS : DOCUMENT_EVENTS;
  const event = dice.pick(events as readonly [string, ...string[]]);
  const once = event.startsWith('run-');
  return {
    event,
    nth: once ? 1 : dice.between(1, ids.length),
    plusMs: dice.chance(0.5) ? 0 : dice.between(1, 120),
  };
}

/** Verbs by which refs and worktrees are changed. */
const REF_VERBS = ['update-ref'] as const;
const ANY_VERBS = ['update-ref', 'worktree', 'read-tree', 'write-tree', 'add', 'commit-tree', 'diff-tree'] as const;

function chooseFault(dice: Dice, world: World): Fault {
  const moment = chooseMoment(dice, world);
  const writesCode = world.workflow === 'implement' || world.workflow === 'run';
  const kind = dice.weighted<FaultKind>({
    kill: 6,
    'kill-git': writesCode ? 3 : 0.3,
    stop: 1.5,
    signal: 2,
    'disk-full': 1.5,
    'read-only': 1.5,
    delete: 2,
    'second-program': 2,
    clock: 1.5,
  });
  switch (kind) {
    case 'kill': {
      const whom = dice.weighted({
        worker: 4,
        parent: 4,
        tests: writesCode ? 2 : 0,
        model: world.models === 'command' ? 1.5 : 0,
      });
      return { kind, whom, which: dice.between(0, 2), moment };
    }
    case 'kill-git':
      return dice.chance(0.5)
        ? { kind, verb: dice.pick(REF_VERBS), how: { at: 'ref' }, moment }
        : { kind, verb: dice.pick(ANY_VERBS), how: { at: 'time', afterMs: dice.between(0, 6) }, moment };
    case 'stop':
      return {
        kind,
        whom: dice.pick(['worker', 'parent']),
        which: dice.between(0, 2),
        forMs: dice.between(200, 3_000),
        moment,
      };
    case 'signal': {
      const signal = dice.pick<NodeJS.Signals>(['SIGINT', 'SIGTERM']);
      return { kind, signals: dice.chance(0.3) ? [signal, signal] : [signal], gapMs: dice.between(0, 600), moment };
    }
    case 'disk-full':
      return { kind, forMs: dice.chance(0.5) ? null : dice.between(200, 3_000), moment };
    case 'read-only':
      return { kind, what: dice.pick(READ_ONLY), forMs: dice.chance(0.5) ? null : dice.between(200, 3_000), moment };
    case 'delete':
      return { kind, what: dice.pick(DELETABLE), moment };
    case 'second-program':
      return { kind, command: dice.chance(0.8) ? 'same' : 'clean', moment };
    case 'clock':
      return { kind, bySeconds: dice.pick([45, 600, 7_200, 90_000, -30, -7_200, -90_000]), moment };
  }
}

function chooseEnd(dice: Dice): Fault {
  const moment: Moment = { event: null, nth: 1, plusMs: dice.between(0, 1_500) };
  return dice.chance(0.5)
    ? { kind: 'kill', whom: 'parent', which: 0, moment }
    : { kind: 'signal', signals: [dice.pick<NodeJS.Signals>(['SIGINT', 'SIGTERM'])], gapMs: 0, moment };
}

/**
 * Deleting locks under one of two programs lets both work on one item: nothing is promised then. A disk that is full
 * and read-only is only read-only.
 */
function compatible(faults: readonly Fault[]): Fault[] {
  const kept: Fault[] = [];
  for (const fault of faults) {
    const clashes = kept.some(({ kind }) => {
      if (kind === fault.kind) return kind !== 'kill';
      const pair = new Set<FaultKind>([kind, fault.kind]);
      return (pair.has('delete') && pair.has('second-program')) || (pair.has('disk-full') && pair.has('read-only'));
    });
    if (!clashes) kept.push(fault);
  }
  return kept;
}
