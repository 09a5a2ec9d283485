import { type ChildProcess, spawn } from 'node:child_process';
import { WORKER_TAG } from '../process/remains.ts';

/*
 * The coordinator can be killed so that it can't clean up, and a worker whose event loop is blocked can't notice. So a
 * small shell holds the other end of a pipe: when the pipe closes without `bye`, it kills every
 * process group it knows of, and every process that carries the run's tag. It is its own session, so that no Ctrl+C
 * and no closing terminal reaches it first.
 */
const SCRIPT = `
trap '' INT TERM HUP QUIT
tag=$1
groups=' '
while read -r verb pid; do
  case $verb in
    add) groups="$groups$pid " ;;
    del) groups=$(printf %s "$groups" | sed "s/ $pid / /") ;;
    bye) exit 0 ;;
  esac
done
for group in $groups; do kill -KILL -- "-$group" 2>/dev/null; done
[ -d /proc/self ] || exit 0
for round in 1 2 3; do
  for file in $(grep -lsz "^${WORKER_TAG}=$tag" /proc/[0-9]*/environ); do
    pid=\${file#/proc/}
    kill -KILL "\${pid%/environ}" 2>/dev/null
  done
done
`;

export interface OrphanGuard {
  add(group: number): void;
  remove(group: number): void;
  dismiss(): void;
}

export function startOrphanGuard(tag: string): OrphanGuard {
  if (process.platform === 'win32') return { add: () => undefined, remove: () => undefined, dismiss: () => undefined };
  const child: ChildProcess = spawn('sh', ['-c', SCRIPT, 'agentos-orphan-guard', tag], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
    env: { PATH: process.env['PATH'] ?? '/usr/bin:/bin' },
    cwd: '/',
  });
  // Without it the run is only less safe against kill -9.
  child.on('error', () => undefined);
  child.stdin?.on('error', () => undefined);
  child.unref();
  const tell = (line: string): void => {
    child.stdin?.write(`${line}\n`);
  };
  return {
    add: (group) => tell(`add ${group}`),
    remove: (group) => tell(`del ${group}`),
    dismiss: () => {
      child.stdin?.end('bye\n');
    },
  };
}
