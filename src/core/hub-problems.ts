import type { Words } from './implementation-problems.ts';

/** What can go wrong between machines that share a backlog: see `core/wording.ts`. `database`: without its password. */
export const HUB_PROBLEMS = {
  'database-unreachable': (p: { database: string; reason: string }) => [
    `The database ${p.database} can't be reached: ${p.reason}`,
    'Check that it runs, and the address in --database or AGENTOS_DATABASE_URL.',
  ],
  'database-refused': (p: { database: string; reason: string }) => [
    `The database ${p.database} refused access: ${p.reason}`,
    'Check the user, the password and the rights of the role: it needs its own schema, agentos.',
  ],
  'database-schema': (p: { database: string; found: number; known: number }) =>
    p.found < p.known
      ? [
          `The database ${p.database} has version ${p.found} of the schema; this program needs ${p.known}.`,
          'Run: agentos database migrate',
        ]
      : [
          `The database ${p.database} has version ${p.found} of the schema; this program knows ${p.known}.`,
          'Update agentos on this machine.',
        ],
  'hub-missing': (p: { database: string; reason: string }) => [
    `No hub answers for the database ${p.database}: ${p.reason}`,
    'Start one with: agentos hub --database …',
  ],
  'hub-running': (p: { database: string }) => [
    `Another hub is running on the database ${p.database}.`,
    'A database has only one hub. Stop the other one first.',
  ],
  'machine-revoked': (p: { machine: string }) => [
    `The machine ${p.machine} was revoked.`,
    'See: agentos hub machines. It can join again as a new machine, with another --base-dir.',
  ],
  'machine-missing': (p: { machine: string; near: string[] }) => [
    `No machine is called ${p.machine}.`,
    p.near.length > 0 ? `Did you mean ${p.near.join(' or ')}?` : 'See: agentos hub machines',
  ],
  'machine-lost': (p: { machine: string; times: number }) => [
    `Its machine was lost ${p.times} times, last ${p.machine}: the item may be the cause.`,
    'See its log, then run the same command again: it resumes after its last step.',
  ],
  'lease-lost': () => ['The lease of the item has ended.', 'Another machine resumes it.'],
  'item-elsewhere': (p: { workflow: string; id: string }) => [
    `The hub is already running ${p.workflow} ${p.id} with another text.`,
    'Wait for it to end, or stop that run. See: agentos status --database …',
  ],
  'postgres-missing': (p: { reason: string }) => [
    `No PostgreSQL was found, and it can't be installed: ${p.reason}`,
    'Install PostgreSQL, or name a database: agentos hub --database postgres://…',
  ],
  'postgres-failed': (p: { reason: string }) => [
    `PostgreSQL did not start: ${p.reason}`,
    'Fix it, or name a running database: agentos hub --database postgres://…',
  ],
} satisfies Record<string, (facts: never) => Words>;
