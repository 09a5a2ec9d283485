import type { ItemStatus } from './item.ts';

export const EXIT = { ok: 0, failed: 1, usage: 2, discuss: 3, paused: 75, interrupted: 130, terminated: 143 } as const;

const FAILURES: ReadonlySet<ItemStatus> = new Set<ItemStatus>([
  'failed',
  'timed-out',
  'over-budget',
  'stalled',
  'crashed',
]);

export function isFailure(status: ItemStatus): boolean {
  return FAILURES.has(status);
}

/** An interruption first; then, of what happened to the items, the first of failed, paused, waiting for a person. */
export function exitCodeOf(statuses: readonly ItemStatus[], interruptedBy: NodeJS.Signals | null): number {
  if (interruptedBy === 'SIGINT') return EXIT.interrupted;
  if (interruptedBy !== null) return EXIT.terminated;
  if (statuses.some(isFailure)) return EXIT.failed;
  if (statuses.includes('paused')) return EXIT.paused;
  if (statuses.includes('discuss')) return EXIT.discuss;
  // What waits for one that is paused or waits for a person is no failure; what else was not done is.
  return statuses.includes('cancelled') ? EXIT.failed : EXIT.ok;
}
