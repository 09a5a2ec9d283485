import type { Git } from '../git.ts';
import { NO_HOOKS } from './opening.ts';

/** Trees and commits that a journal refers to: nothing else keeps them when git tidies up. */
export interface Pins {
  pin(git: Git, object: string): Promise<void>;
  /** The refs that there are. */
  refs(): readonly string[];
}

export async function openPins(repository: Git, name: string): Promise<Pins> {
  const listed = await repository.text(['for-each-ref', '--format=%(objectname) %(refname)', pinsOf(name)]);
  const known = new Set<string>();
  const refs: string[] = [];
  let last = 0;
  for (const line of listed.split('\n').filter(Boolean)) {
    const [object = '', ref = ''] = line.split(' ');
    known.add(object);
    refs.push(ref);
    last = Math.max(last, Number(ref.slice(ref.lastIndexOf('/') + 1)) || 0);
  }
  return {
    async pin(git, object) {
      if (known.has(object)) return;
      last += 1;
      refs.push(`${pinsOf(name)}${last}`);
      await git.run(['update-ref', `${pinsOf(name)}${last}`, object]);
      known.add(object);
    },
    refs: () => refs,
  };
}

/** Of a worktree that is gone; `known`: its refs, where somebody knows them already. */
export async function removePins(repository: Git, name: string, known?: readonly string[]): Promise<void> {
  const refs = known ?? (await repository.text(['for-each-ref', '--format=%(refname)', pinsOf(name)])).split('\n');
  const input = refs.flatMap((ref) => (ref === '' ? [] : [`delete ${ref}\n`])).join('');
  if (input !== '') await repository.run([...NO_HOOKS, 'update-ref', '--stdin'], { input });
}

export function pinsOf(name: string): string {
  return `refs/agentos/${name.replace(/[^a-zA-Z0-9_-]/g, '_')}/`;
}
