// A git that is killed: `node git-trap.mjs <folder> <git> <arguments…>`. The folder's file `taken` holds the verb and how.
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const [folder, git, ...args] = process.argv.slice(2);
const [verb, how] = readFileSync(join(folder, 'taken'), 'utf8').split('\n');
const { at, afterMs } = JSON.parse(how);
const before = args.indexOf(verb);
const hooks = at === 'ref' ? ['-c', `core.hooksPath=${join(folder, 'hooks')}`] : [];
const child = spawn(git, [...args.slice(0, before), ...hooks, ...args.slice(before)], { stdio: 'inherit' });
if (at === 'time') setTimeout(() => child.kill('SIGKILL'), afterMs);
child.on('exit', (code, signal) => {
  if (signal === null) process.exit(code);
  process.kill(process.pid, signal);
});
