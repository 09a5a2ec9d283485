import type { Git } from './git.ts';
import { NO_HOOKS } from './worktree-opening.ts';

/** Trees and commits that a journal refers to: nothing else keeps them when git tidies up. */
export interface Pins {
  pin(git: Git, object: string): Promise<void>;
}

export async function openPins(repository: Git, name: string): Promise<Pins> {
  const listed = await repository.text(['for-each-ref', '--format=%(objectname) %(refname)', pinsOf(name)]);
  const known = new Set<string>();
  let last = 0;
  for (const line of listed.split('\n').filter(Boolean)) {
    const [object = '', ref = ''] = line.split(' ');
    known.add(object);
    last = Math.max(last, Number(ref.slice(ref.lastIndexOf('/') + 1)) || 0);
  }
  return {
    async pin(git, object) {
      if (known.has(object)) return;
      last += 1;
      await git.run(['update-ref', `${pinsOf(name)}${last}`, object]);
      known.add(object);
    },
  };
}

export async function removePins(repository: Git, name: string): Promise<void> {
  const refs = await repository.text(['for-each-ref', '--format=delete %(refname)', pinsOf(name)]);
  if (refs !== '') await repository.run([...NO_HOOKS, 'update-ref', '--stdin'], { input: `${refs}\n` });
}

export function pinsOf(name: string): string {
  return `refs/agentos/${name.replace(/[^a-zA-Z0-9_-]/g, '_')}/`;
}
