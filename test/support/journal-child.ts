/**
 * Opens a journal and takes three steps, so that a test can kill it at a known moment. Each run of a step's function is
 * a line in the file `runs`: `<name> <how often it was started before>`.
 *
 *   node journal-child.ts <kind> <location> <runs> <moment>
 *
 * moments: `none` (go to the end), `between` (wait after the first step), `in-flight` (wait inside the second),
 * `answered` (die when the second step's answer is about to be stored). A waiting child says `ready` and ends by itself
 * when its stdin does.
 */
import { appendFileSync } from 'node:fs';
import { systemClock } from '../../src/core/clock.ts';
import { openDatabase } from '../../src/hub/database.ts';
import { openStoredJournal } from '../../src/journal/journal.ts';
import type { Journal } from '../../src/journal/port.ts';
import { postgresSteps } from '../../src/journal/postgres.ts';
import { openSqliteJournal } from '../../src/journal/sqlite.ts';

const openers: Record<string, (location: string) => Journal | Promise<Journal>> = {
  sqlite: (file) => openSqliteJournal(file, { clock: systemClock }),
  postgres: (address) => {
    const [url = '', key = ''] = address.split('#');
    const database = openDatabase(url, { application: 'test', connections: 1 });
    return openStoredJournal(postgresSteps(database, { repository: 'r', key }), systemClock);
  },
};

const [kind = '', location = '', runs = '', moment = ''] = process.argv.slice(2);
const open = openers[kind];
if (open === undefined) throw new Error(`no such kind of journal: ${kind}`);

process.stdin.on('end', () => process.exit(1));
process.stdin.resume();

const journal = await open(location);
await take('one');
if (moment === 'between') await waitForever();
await take('two');
await take('three');
journal.close();
process.exit(0);

async function take(name: string): Promise<void> {
  await journal.step({ name, inputs: {} }, async ({ earlierStarts }) => {
    appendFileSync(runs, `${name} ${earlierStarts}\n`);
    if (name === 'two' && moment === 'in-flight') await waitForever();
    return name === 'two' && moment === 'answered' ? { toJSON: die } : { text: `answer to ${name}` };
  });
}

function die(): never {
  process.kill(process.pid, 'SIGKILL');
  throw new Error('still alive');
}

function waitForever(): Promise<never> {
  process.stdout.write('ready\n');
  return new Promise(() => {});
}
