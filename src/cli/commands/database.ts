import { AgentosError } from '../../core/errors.ts';
import { EXIT } from '../../core/exit-code.ts';
import { migrate, SCHEMA_VERSION, schemaVersion } from '../../hub/migrations.ts';
import { withDatabase } from '../hub-database.ts';
import type { DatabaseFlags } from '../place.ts';
import { printProblem } from '../problem.ts';
import { version } from '../version.ts';

export async function migrateCommand(flags: DatabaseFlags): Promise<number> {
  return withDatabase(
    flags,
    async (database) => {
      const { from, to } = await migrate(database, version);
      const done = from === to ? `is at version ${to} already` : `was migrated from version ${from} to ${to}`;
      process.stdout.write(`The schema agentos in ${database.name} ${done}.\n`);
      return EXIT.ok;
    },
    { anyVersion: true },
  );
}

/** 0: this program can work with it; 1: it can't. */
export async function checkDatabaseCommand(flags: DatabaseFlags & { json?: boolean }): Promise<number> {
  return withDatabase(
    flags,
    async (database) => {
      const found = await schemaVersion(database);
      const isGood = found === SCHEMA_VERSION;
      if (flags.json)
        process.stdout.write(
          `${JSON.stringify({ database: database.name, found, known: SCHEMA_VERSION, ok: isGood })}\n`,
        );
      else if (isGood)
        process.stdout.write(
          `The schema agentos in ${database.name} is at version ${found}, as this program needs it.\n`,
        );
      else
        printProblem(
          new AgentosError({ code: 'database-schema', database: database.name, found, known: SCHEMA_VERSION }).problem,
        );
      return isGood ? EXIT.ok : EXIT.failed;
    },
    { anyVersion: true },
  );
}
