import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { GitKill } from './scenario.ts';

const TRAP = join(dirname(fileURLToPath(import.meta.url)), 'git-trap.mjs');

/** A `git` that goes first in PATH: the next call with the verb is killed, every other one is git's own. */
export interface GitTrap {
  folder: string;
  arm(verb: string, how: GitKill): Promise<void>;
  /** A git has walked into it. */
  isSprung(): boolean;
  disarm(): Promise<void>;
}

export async function createGitTrap(folder: string): Promise<GitTrap> {
  const git = execFileSync('sh', ['-c', 'command -v git'], { encoding: 'utf8' }).trim();
  const armed = join(folder, 'armed');
  const taken = join(folder, 'taken');
  await mkdir(folder);
  // Of several gits at once exactly one can rename the file.
  await writeScript(
    join(folder, 'git'),
    `if read -r verb 2>/dev/null <'${armed}'; then
  case " $* " in *" $verb "*) mv '${armed}' '${taken}' 2>/dev/null && exec '${process.execPath}' '${TRAP}' '${folder}' '${git}' "$@" ;; esac
fi
exec '${git}' "$@"
`,
  );
  // Git runs it while it holds the locks of all the refs that it is about to move.
  await mkdir(join(folder, 'hooks'));
  await writeScript(
    join(folder, 'hooks', 'reference-transaction'),
    '[ "$1" = prepared ] && kill -KILL $PPID\nexit 0\n',
  );
  return {
    folder,
    async arm(verb, how) {
      await writeFile(`${armed}.new`, `${verb}\n${JSON.stringify(how)}\n`);
      await rename(`${armed}.new`, armed);
    },
    isSprung: () => existsSync(taken),
    disarm: async () => {
      await rm(armed, { force: true });
      await rm(taken, { force: true });
    },
  };
}

async function writeScript(path: string, text: string): Promise<void> {
  await writeFile(path, `#!/bin/sh\n${text}`);
  await chmod(path, 0o755);
}
