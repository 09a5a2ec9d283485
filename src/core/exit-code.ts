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

/** An interruption comes first; then the first of failed, paused and DISCUSS among the items. */
export function exitCodeOf(statuses: readonly ItemStatus[], interruptedBy: NodeJS.Signals | null): number {
  if (interruptedBy === 'SIGINT') return EXIT.interrupted;
  if (interruptedBy !== null) return EXIT.terminated;
  if (statuses.some(isFailure)) return EXIT.failed;
  if (statuses.includes('paused')) return EXIT.paused;
  if (statuses.includes('discuss')) return EXIT.discuss;
  // No item is paused or in DISCUSS, so a cancelled item did not wait for one: it counts as a failure.
  return statuses.includes('cancelled') ? EXIT.failed : EXIT.ok;
}
