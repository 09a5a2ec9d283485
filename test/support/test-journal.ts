import { systemClock } from '../../src/core/clock.ts';
import type { SettlingJournal } from '../../src/journal/port.ts';
import { openSqliteJournal } from '../../src/journal/sqlite.ts';

/** A journal on the disk, as every item has one. */
export function testJournal(file: string): SettlingJournal {
  return openSqliteJournal(file, { clock: systemClock });
}
