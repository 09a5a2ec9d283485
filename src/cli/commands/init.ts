import { lstat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { configJsonSchema } from '../../core/config-schema.ts';
import { AgentosError } from '../../core/errors.ts';
import { EXIT } from '../../core/exit-code.ts';
import { withoutSecrets } from '../../core/keys.ts';
import { writeFileAtomic } from '../../workspace/atomic-file.ts';
import { findRepository } from '../../workspace/repository.ts';
import { prepareStateFolder } from '../../workspace/state-folder.ts';
import template from './init-template.md';

/** In the folder that git does not see, so that editors find it without a network and the user's commits stay free of it. */
const SCHEMA_FILE = 'agentos.schema.json';

export async function initCommand({ print, repo }: { print?: boolean; repo?: string }): Promise<number> {
  if (print) {
    process.stdout.write(template);
    return EXIT.ok;
  }
  const repository = await findRepository(resolve(repo ?? '.'), withoutSecrets(process.env, [], []));
  const file = join(repository, 'agentos.yaml');
  const exists = await lstat(file).then(
    () => true,
    () => false,
  );
  if (exists) {
    throw new AgentosError({
      code: 'usage',
      reason: `${file} exists already.`,
      hint: 'It was left as it is. agentos init --print shows the commented defaults.',
    });
  }
  // The schema first: if the folder can't be made, the repository stays as it was.
  const folder = join(repository, '.agentos');
  await prepareStateFolder(folder);
  await writeFileAtomic(join(folder, SCHEMA_FILE), `${JSON.stringify(configJsonSchema(), null, 2)}\n`);
  await writeFileAtomic(file, template);
  process.stdout.write(`Wrote ${file}. Every setting is commented out: take the mark away where you want another.\n`);
  return EXIT.ok;
}
