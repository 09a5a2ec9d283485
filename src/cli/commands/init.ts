import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { configJsonSchema } from '../../core/config-schema.ts';
import { AgentosError, systemCode } from '../../core/errors.ts';
import { EXIT } from '../../core/exit-code.ts';
import { writeFileAtomic } from '../../workspace/atomic-file.ts';
import { prepareStateFolder } from '../../workspace/state-folder.ts';
import { type PlaceFlags, projectOf } from '../place-flags.ts';
import template from './init-template.md';

/** Beside the state, so that editors find it without a network and the user's commits stay free of it. */
const SCHEMA_FILE = 'agentos.schema.json';

export async function initCommand(flags: PlaceFlags & { print?: boolean }): Promise<number> {
  if (flags.print) {
    process.stdout.write(template);
    return EXIT.ok;
  }
  const { paths } = await projectOf(flags);
  const file = join(paths.repository, 'agentos.yaml');
  await writeFile(file, template, { flag: 'wx' }).catch((error: unknown) => {
    if (systemCode(error) === 'EEXIST') {
      throw new AgentosError({
        code: 'usage',
        reason: `${file} exists already.`,
        hint: 'It was left as it is. agentos init --print shows the commented defaults.',
      });
    }
    throw new AgentosError(
      { code: 'output-unwritable', path: file, reason: systemCode(error) ?? String(error) },
      { cause: error },
    );
  });
  const schemaFolder = join(paths.repository, '.agentos');
  await prepareStateFolder(schemaFolder);
  await writeFileAtomic(join(schemaFolder, SCHEMA_FILE), `${JSON.stringify(configJsonSchema(), null, 2)}\n`);
  process.stdout.write(`Wrote ${file}. Every setting is commented out and shows its default.\n`);
  return EXIT.ok;
}
