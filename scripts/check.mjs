// One command that checks all: types, lint, format, unused code, which folder imports which.
import { spawnSync } from 'node:child_process';

const checks = [
  ['types', 'tsc', ['--pretty', 'false']],
  ['types of the pages', 'tsc', ['--pretty', 'false', '--project', 'tsconfig.page.json']],
  ['lint', 'oxlint', ['--type-aware', '--deny-warnings', '.']],
  ['format', 'biome', ['check', '--error-on-warnings', '.']],
  ['unused code', 'knip', []],
  ['boundaries', process.execPath, ['scripts/boundaries.mjs']],
];

let failed = false;
for (const [name, command, args] of checks) {
  const { status } = spawnSync(command, args, { stdio: 'inherit' });
  process.stdout.write(`${status === 0 ? 'ok    ' : 'FAILED'} ${String(name)}\n`);
  failed ||= status !== 0;
}
process.exit(failed ? 1 : 0);
