import { cp, mkdir, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { AgentosError, systemCode } from '../core/errors.ts';
import { createGit } from './git.ts';
import { packageRoot } from './package-root.ts';

const MARKER = '.made-by-agentos-demo';

/**
 * Makes the demo's sample repository anew. A folder that the demo did not make itself is left alone. The environment must
 * not name another repository (GIT_DIR and its kin): git would commit there.
 */
export async function makeSampleRepository(directory: string, env: Record<string, string>): Promise<void> {
  const entries = await entriesOf(directory);
  if (entries.length > 0 && !entries.includes(MARKER)) throw new AgentosError({ code: 'demo-folder-taken', directory });
  const environment = { ...env, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' };
  // Before anything is written: without git there is no sample repository.
  await createGit(packageRoot(), environment).run(['--version']);
  try {
    await mkdir(directory, { recursive: true });
    // The folder itself stays: somebody may stand in it.
    for (const entry of entries.filter((name) => name !== MARKER))
      await rm(join(directory, entry), { recursive: true, force: true });
    await writeFile(join(directory, MARKER), 'This folder was made by `agentos demo` and is made anew by it.\n');
    await cp(join(packageRoot(), 'examples', 'demo', 'repository'), directory, { recursive: true });
  } catch (error) {
    throw new AgentosError(
      { code: 'output-unwritable', path: directory, reason: systemCode(error) ?? String(error) },
      { cause: error },
    );
  }
  const git = createGit(directory, environment);
  await git.run(['init', '--quiet', '--initial-branch=main', '.']);
  await git.run(['add', '--all']);
  // Its own, so that branches can be committed to where nobody has told git who they are.
  await git.run(['config', 'user.name', 'agentos demo']);
  await git.run(['config', 'user.email', 'demo@localhost']);
  await git.run(['commit', '--quiet', '-m', 'Sample repository']);
}

async function entriesOf(directory: string): Promise<string[]> {
  try {
    return await readdir(directory);
  } catch (error) {
    const exists = await stat(directory).then(
      () => true,
      () => false,
    );
    if (exists) throw new AgentosError({ code: 'demo-folder-taken', directory }, { cause: error });
    return [];
  }
}
