import { join } from 'node:path';
import { systemClock } from '../../src/core/clock.ts';
import { openSqliteJournal } from '../../src/journal/sqlite.ts';
import { journalRules } from './journal-suite.ts';

journalRules('SQLite', (folder) => {
  const file = join(folder, 'a b ü', 'lld-42.db');
  return { open: async () => openSqliteJournal(file, { clock: systemClock }), child: ['sqlite', file] };
});
