import { afterAll, describe } from 'vitest';
import { systemClock } from '../../src/core/clock.ts';
import { type Database, openDatabase } from '../../src/hub/database.ts';
import { postgresSteps } from '../../src/journal/postgres.ts';
import { openStoredJournal } from '../../src/journal/stored.ts';
import { freshDatabase, testPostgres } from '../support/postgres.ts';
import { journalRules } from './journal-suite.ts';

const postgres = await testPostgres();
const url = postgres === null ? '' : await freshDatabase(postgres);
const database: Database | null = postgres && openDatabase(url, { application: 'test', connections: 4 });

afterAll(async () => {
  await database?.close();
  await postgres?.stop();
});

let places = 0;

describe.skipIf(database === null)('on a real server', () => {
  journalRules('PostgreSQL', () => {
    places += 1;
    const place = { repository: 'r', key: `lld-${places}` };
    return {
      open: () => {
        if (database === null) throw new TypeError('skipped');
        return openStoredJournal(postgresSteps(database, place), systemClock);
      },
      child: ['postgres', `${url}#${place.key}`],
    };
  });
});
