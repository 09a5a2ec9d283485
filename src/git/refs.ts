import type { Git } from './git.ts';

/** The object ids of all refs below these prefixes, by full name. */
export async function refsBelow(git: Git, ...prefixes: string[]): Promise<Map<string, string>> {
  const refs = new Map<string, string>();
  // Without a prefix, git lists all refs.
  if (prefixes.length === 0) return refs;
  const listing = await git.text(['for-each-ref', '--format=%(objectname) %(refname)', ...prefixes]);
  for (const line of listing.split('\n').filter(Boolean)) {
    const [id = '', name = ''] = line.split(' ');
    refs.set(name, id);
  }
  return refs;
}

export async function removeRefsBelow(git: Git, ...prefixes: string[]): Promise<void> {
  const names = [...(await refsBelow(git, ...prefixes)).keys()];
  const input = names.map((name) => `delete ${name}\n`).join('');
  if (input !== '') await git.run(['update-ref', '--stdin'], { input });
}
