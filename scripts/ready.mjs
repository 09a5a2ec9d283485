// Makes a checkout ready to use: installs what the lock file names and builds, each only when something changed.
// Runs on whatever Node the machine has; everything after it uses the Node of node_modules/.bin.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));

function stamp(files) {
  const hash = createHash('sha256');
  for (const file of files)
    hash
      .update(file)
      .update('\0')
      .update(readFileSync(join(root, file)))
      .update('\0');
  return hash.digest('hex');
}

function filesBelow(folder) {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name).slice(root.length + 1))
    .sort();
}

function once(name, stampFile, files, run) {
  const path = join(root, stampFile);
  const wanted = stamp(files);
  if (existsSync(path) && readFileSync(path, 'utf8') === wanted) return;
  process.stderr.write(`${name} …\n`);
  const { status } = run();
  if (status !== 0) process.exit(status ?? 1);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, wanted);
}

const inherit = { cwd: root, stdio: ['ignore', 2, 'inherit'], shell: process.platform === 'win32' };
const quiet = ['--no-audit', '--no-fund', '--loglevel=error'];

once('Installing', 'node_modules/.agentos-installed', ['package-lock.json'], () =>
  spawnSync('npm', ['ci', ...quiet], inherit),
);
if (!process.argv.includes('--install-only')) {
  const sources = [...filesBelow('src'), ...filesBelow('examples'), ...filesBelow('scripts'), 'package.json'];
  once('Building', 'dist/.built', sources, () =>
    spawnSync(join(root, 'node_modules/.bin/node'), ['scripts/build.mjs'], inherit),
  );
}
