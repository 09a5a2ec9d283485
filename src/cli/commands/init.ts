import { lstat, readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import { AgentosError } from '../../core/errors.ts';
import { EXIT } from '../../core/exit-code.ts';
import { plainEnvironment } from '../../core/keys.ts';
import { findRepository } from '../../git/repository.ts';
import { writeFileAtomic } from '../../process/files.ts';
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
    throw new AgentosError({
      code: 'usage',
      reason: `${file} already exists.`,
      hint: 'It was not changed. agentos init --print shows the commented defaults.',
    });
  }
  await writeFileAtomic(file, textWith((await isDependency(repository)) ? INSTALLED_SCHEMA : PUBLISHED_SCHEMA));
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
async function isDependency(repository: string): Promise<boolean> {
  const text = await readFile(join(repository, 'package.json'), 'utf8').catch(() => '');
  try {
    const { data } = dependencies.safeParse(JSON.parse(text));
    return 'agentos' in { ...data?.dependencies, ...data?.devDependencies };
  } catch {
    return false;
  }
}
