import { cp, mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { AgentosError, systemCode } from '../core/errors.ts';
import { createGit } from './git.ts';
import { packageRoot } from './package-root.ts';

const MARKER = '.made-by-agentos-demo';

/** Makes the demo's sample repository anew. A folder that the demo did not make itself is left alone. */
export async function makeSampleRepository(directory: string, env: Record<string, string>): Promise<void> {
  const entries = await readdir(directory).catch((error: unknown) => {
    if (systemCode(error) === 'ENOENT') return [] as string[];
    throw new AgentosError({ code: 'demo-folder-taken', directory }, { cause: error });
  });
  if (entries.length > 0 && !entries.includes(MARKER)) throw new AgentosError({ code: 'demo-folder-taken', directory });
  await rm(directory, { recursive: true, force: true });
  await mkdir(directory, { recursive: true });
  await writeFile(join(directory, MARKER), 'This folder was made by `agentos demo` and is made anew by it.\n');
  await cp(join(packageRoot(), 'examples', 'demo', 'repository'), directory, { recursive: true });
  const git = createGit(directory, { ...env, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' });
  await git.run(['init', '--quiet', '--initial-branch=main', '.']);
  await git.run(['add', '--all']);
  await git.run([
    '-c',
    'user.name=agentos demo',
    '-c',
    'user.email=demo@localhost',
    'commit',
    '--quiet',
    '-m',
    'Sample repository',
  ]);
}
