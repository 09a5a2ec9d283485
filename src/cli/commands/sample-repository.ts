import { cp, lstat, mkdir, readdir, readFile, readlink, rm, stat, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { z } from 'zod';
import { AgentosError, systemCode } from '../../core/errors.ts';
import { sha256 } from '../../core/hash.ts';
import { parseJson } from '../../core/json.ts';
import { createGit, type Git } from '../../git/git.ts';
import { packageRoot } from '../../process/package-root.ts';

const MARKER = '.made-by-agentos-demo';
/** The branches stand for git's own files; the state folder holds no user's work. */
const NOT_LOOKED_AT = new Set([MARKER, '.git', '.agentos']);

/** What the demo left: files and branches by name, each with its hash. */
const inventorySchema = z.record(z.string(), z.string());
type Inventory = z.infer<typeof inventorySchema>;

/**
 * Makes the demo's sample repository, again where it was made before. A folder that the demo did not make, or in which a
 * person has done something since, is left alone. The environment must not name another repository (GIT_DIR and its kin):
 * git would commit there.
 */
export async function makeSampleRepository(directory: string, env: Record<string, string>): Promise<void> {
  const environment = { ...env, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' };
  const entries = await entriesOf(directory);
  if (entries.length > 0 && !entries.includes(MARKER)) throw taken(directory, []);
  // Before anything is written: without git there is no sample repository.
  await createGit(packageRoot(), environment).run(['--version']);
  const git = createGit(directory, environment);
  const changed = entries.length === 0 ? [] : await changesIn(directory, git);
  if (changed.length > 0) throw taken(directory, changed);
  try {
    await mkdir(directory, { recursive: true });
    // The folder itself stays: a shell may stand in it.
    for (const entry of entries.filter((name) => name !== MARKER))
      await rm(join(directory, entry), { recursive: true, force: true });
    await writeFile(join(directory, MARKER), '{}\n');
    await cp(join(packageRoot(), 'examples', 'demo', 'repository'), directory, { recursive: true });
  } catch (error) {
    throw new AgentosError(
      { code: 'output-unwritable', path: directory, reason: systemCode(error) ?? String(error) },
      { cause: error },
    );
  }
  await git.run(['init', '--quiet', '--initial-branch=main', '.']);
  // Ours, and no part of the sample.
  await mkdir(join(directory, '.git', 'info'), { recursive: true });
  await writeFile(join(directory, '.git', 'info', 'exclude'), `/${MARKER}\n`);
  await git.run(['add', '--all']);
  // Its own, so that commits work where git has no identity.
  await git.run(['config', 'user.name', 'agentos demo']);
  await git.run(['config', 'user.email', 'demo@localhost']);
  await git.run(['commit', '--quiet', '-m', 'Sample repository']);
}

/** Notes what is there, so that the next demo can tell what a person did from what this one left. */
export async function noteSampleRepository(directory: string, env: Record<string, string>): Promise<void> {
  const inventory = await inventoryOf(directory, createGit(directory, env));
  await writeFile(join(directory, MARKER), `${JSON.stringify(inventory, null, 2)}\n`);
}

async function changesIn(directory: string, git: Git): Promise<string[]> {
  const text = await readFile(join(directory, MARKER), 'utf8').catch(() => '');
  const left = inventorySchema.safeParse(parseJson(text)).data ?? {};
  const now = await inventoryOf(directory, git);
  return Object.keys({ ...left, ...now }).filter((name) => name in now && now[name] !== left[name]);
}

async function inventoryOf(directory: string, git: Git): Promise<Inventory> {
  const inventory: Inventory = {};
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  for (const entry of entries) {
    const path = join(entry.parentPath, entry.name);
    const name = relative(directory, path);
    if (entry.isDirectory() || NOT_LOOKED_AT.has(name.split(/[\\/]/)[0] ?? '')) continue;
    const found = await lstat(path);
    inventory[name] = sha256(found.isSymbolicLink() ? await readlink(path) : await readFile(path, 'latin1'));
  }
  const refs = await git
    .text(['for-each-ref', '--format=%(refname:short) %(objectname)', 'refs/heads'])
    .catch(() => '');
  for (const line of refs.split('\n').filter(Boolean)) {
    const [name = '', commit = ''] = line.split(' ');
    inventory[`branch ${name}`] = commit;
  }
  return inventory;
}

function taken(directory: string, changed: string[], cause?: unknown): AgentosError {
  return new AgentosError({ code: 'demo-folder-taken', directory, changed }, { cause });
}

async function entriesOf(directory: string): Promise<string[]> {
  try {
    return await readdir(directory);
  } catch (error) {
    const exists = await stat(directory).then(
      () => true,
      () => false,
    );
    if (exists) throw taken(directory, [], error);
    return [];
  }
}
