import { join, resolve } from 'node:path';
import { z } from 'zod';
import { usageError } from '../../core/errors.ts';
import { parseJson } from '../../core/json.ts';
import { plainEnvironment } from '../../core/keys.ts';
import { findRepository } from '../../git/repository.ts';
import { manifestText, writeFileExclusive } from '../../process/files.ts';
import template from './init-template.md';

const INSTALLED_SCHEMA = 'node_modules/agentos/dist/agentos.schema.json';
/** The first line says where editors find the schema. A path that only one machine has would mean nothing in other clones. */
const WITH_SCHEMA = `# yaml-language-server: $schema=${INSTALLED_SCHEMA}`;
const WITHOUT_SCHEMA = '## The JSON Schema for editors is dist/agentos.schema.json in the folder of agentos.';

export async function initCommand({ print, repo }: { print?: boolean; repo?: string }): Promise<void> {
  if (print) {
    process.stdout.write(textWith(WITHOUT_SCHEMA));
    return;
  }
  const repository = await findRepository(resolve(repo ?? '.'), plainEnvironment(process.env));
  const file = join(repository, 'agentos.yaml');
  if (!writeFileExclusive(file, textWith(isDependency(repository) ? WITH_SCHEMA : WITHOUT_SCHEMA)))
    throw usageError(
      `${file} already exists.`,
      'It was not changed. agentos init --print shows the commented defaults.',
    );
  process.stdout.write(`Wrote ${file}. Every setting is commented out: uncomment a line to change it.\n`);
}

function textWith(firstLine: string): string {
  return template.replace('# {first line}', () => firstLine);
}

const dependencies = z.object({
  dependencies: z.record(z.string(), z.unknown()).optional(),
  devDependencies: z.record(z.string(), z.unknown()).optional(),
});

/** The file is committed, so that it must mean something in every clone: there, only what package.json names is installed. */
function isDependency(repository: string): boolean {
  const { data } = dependencies.safeParse(parseJson(manifestText(join(repository, 'package.json'), repository)));
  return 'agentos' in { ...data?.dependencies, ...data?.devDependencies };
}
