// Writes dist/types/: the declarations that a user of the library needs, and no others.
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const SPECIFIER = /(\bfrom |\bimport\()'([^']+)'/g;

/** Fails when a public type leads to a package: users have none of those that we are built from. */
export function writeTypes(root) {
  const made = join(root, 'dist/.types');
  const target = join(root, 'dist/types');
  const args = ['--project', join(root, 'tsconfig.types.json'), '--outDir', made];
  const { status } = spawnSync(join(root, 'node_modules/.bin/tsc'), args, {
    stdio: 'inherit',
    shell: process.platform === 'win32',
  });
  if (status !== 0) throw new Error('the declarations could not be made');

  const kept = new Set();
  const keep = (file) => {
    if (kept.has(file)) return;
    kept.add(file);
    const text = readFileSync(join(made, file), 'utf8').replace(SPECIFIER, (_, before, specifier) => {
      if (specifier.startsWith('node:')) return `${before}'${specifier}'`;
      if (!specifier.startsWith('.')) throw new Error(`${file} refers to the types of ${specifier}`);
      keep(join(dirname(file), specifier.replace(/\.ts$/, '.d.ts')));
      return `${before}'${specifier.replace(/\.ts$/, '.js')}'`;
    });
    mkdirSync(dirname(join(target, file)), { recursive: true });
    writeFileSync(join(target, file), text);
  };
  keep('index.d.ts');
  rmSync(made, { recursive: true });
}
