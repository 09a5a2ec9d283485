import { lstat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import { usageError } from '../../core/errors.ts';
import { EXIT } from '../../core/exit-code.ts';
import { parseJson } from '../../core/json.ts';
import { plainEnvironment } from '../../core/keys.ts';
import { findRepository } from '../../git/repository.ts';
import { writeFileAtomic } from '../../process/files.ts';
import { manifestText } from '../../process/text-file.ts';
import { version } from '../version.ts';
import template from './init-template.md';

const SCHEMA = 'agentos.schema.json';
/** Of this version: settings that are not there yet, or no longer, are marked by the editor. */
const PUBLISHED_SCHEMA = `https://unpkg.com/agentos@${version}/dist/${SCHEMA}`;
const INSTALLED_SCHEMA = `node_modules/agentos/dist/${SCHEMA}`;

export async function initCommand({ print, repo }: { print?: boolean; repo?: string }): Promise<number> {
  if (print) {
    process.stdout.write(textWith(PUBLISHED_SCHEMA));
    return EXIT.ok;
  }
  const repository = await findRepository(resolve(repo ?? '.'), plainEnvironment(process.env));
  const file = join(repository, 'agentos.yaml');
  const exists = await lstat(file).then(
    () => true,
    () => false,
  );
  if (exists) {
    throw usageError(
      `${file} already exists.`,
      'It was not changed. agentos init --print shows the commented defaults.',
    );
  }
  await writeFileAtomic(file, textWith(isDependency(repository) ? INSTALLED_SCHEMA : PUBLISHED_SCHEMA));
  process.stdout.write(`Wrote ${file}. Every setting is commented out: uncomment a line to change it.\n`);
  return EXIT.ok;
}

function textWith(schema: string): string {
  return template.replace('{schema}', schema);
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
