import { afterAll, beforeAll, describe } from 'vitest';
import { systemClock } from '../../src/core/clock.ts';
import { type Database, openDatabase } from '../../src/hub/database.ts';
import { openStoredJournal } from '../../src/journal/journal.ts';
import { postgresSteps } from '../../src/journal/postgres.ts';
import { freshDatabase, hasPostgres, type TestPostgres, testPostgres } from '../support/postgres.ts';
import { journalRules } from './journal-suite.ts';

const isPossible = hasPostgres();
let postgres: TestPostgres;
let database: Database;
let url = '';

beforeAll(async () => {
  if (!isPossible) return;
  postgres = await testPostgres();
  url = await freshDatabase(postgres);
  database = openDatabase(url, { application: 'test', connections: 4 });
});

afterAll(async () => {
  await database?.close();
  await postgres?.stop();
});

let places = 0;

describe.skipIf(!isPossible)('on a real server', () => {
  journalRules('PostgreSQL', () => {
    places += 1;
    const place = { repository: 'r', key: `lld-${places}` };
    return {
      open: () => openStoredJournal(postgresSteps(database, place), systemClock),
      child: ['postgres', `${url}#${place.key}`],
    };
  });
});
