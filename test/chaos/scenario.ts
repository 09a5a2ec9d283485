/** What is run, and on what. */
export interface World {
  workflow: 'lld' | 'issue' | 'implement' | 'run';
  ids: string[];
  /** Items are asked for by `--all`, not by name. */
  all: boolean;
  models: 'command' | 'vendor';
  keys: number;
  parallel: number;
  /** Items whose first review asks for changes. */
  revised: string[];
  latencyMs: number;
  /** Two seconds of silence are taken for a stall, until the faults have stopped. */
  isHasty: boolean;
  /** Where state lives: `.agentos/`, or a folder outside of the repository. */
  state: 'inside' | 'outside';
  /** What is on a small disk of its own. */
  smallDisk: 'nothing' | 'repository' | 'state';
}

/** Not before it: a time after the start, or the n-th event of a kind. Time passes even where nothing happens. */
export interface Moment {
  event: string | null;
  nth: number;
  plusMs: number;
}

export const VENDOR_FAULTS = ['429', '429-retry-after', '500', '529', 'reset', 'cut', 'empty', 'drip', 'page'] as const;
export type VendorFault = (typeof VENDOR_FAULTS)[number];

/** `ref`: while it holds the locks of the refs that it moves. */
export type GitKill = { at: 'ref' } | { at: 'time'; afterMs: number };

export const DELETABLE = ['all', 'locks', 'checkpoints', 'runs', 'run-record', 'worktrees'] as const;
export type Deletable = (typeof DELETABLE)[number];

export const READ_ONLY = ['docs', 'issues', 'state', 'locks', 'checkpoints', 'runs', 'git'] as const;
export type ReadOnly = (typeof READ_ONLY)[number];

export type Fault =
  /** `which` of them, where there are several. */
  | { kind: 'kill'; whom: 'worker' | 'parent' | 'tests' | 'model'; which: number; moment: Moment }
  | { kind: 'kill-git'; verb: string; how: GitKill; moment: Moment }
  | { kind: 'stop'; whom: 'worker' | 'parent'; which: number; forMs: number; moment: Moment }
  | { kind: 'signal'; signals: NodeJS.Signals[]; gapMs: number; moment: Moment }
  /** Null: until the program has ended. */
  | { kind: 'disk-full'; forMs: number | null; moment: Moment }
  | { kind: 'read-only'; what: ReadOnly; forMs: number | null; moment: Moment }
  | { kind: 'delete'; what: Deletable; moment: Moment }
  | { kind: 'second-program'; command: 'same' | 'clean'; moment: Moment }
  | { kind: 'clock'; bySeconds: number; moment: Moment };

export type FaultKind = Fault['kind'];

/** One start of the program, with what happens to it; `deleted` goes before it is started. */
export interface ActPlan {
  how: 'start' | 'resume';
  deleted: Deletable | null;
  faults: Fault[];
  /** Ends the program when all the others have begun, so that something is left for the next act. */
  end: Fault | null;
}

export interface Scenario {
  seed: number;
  world: World;
  acts: ActPlan[];
  /** By the number of the call, over all acts. */
  vendorFaults: [call: number, fault: VendorFault][];
  /** How it is taken up when the faults have stopped: `agentos resume`, or the same command again. */
  resumeWith: 'resume' | 'same';
}
