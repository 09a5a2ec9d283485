import type { Git } from './git.ts';

/** A file that both sides changed differently. */
export interface Conflict {
  path: string;
  /** The blobs of the common ancestor, ours and theirs; null: the file does not exist there. */
  versions: [ancestor: string | null, ours: string | null, theirs: string | null];
}

export interface Merge {
  /** Files in conflict contain conflict markers. */
  tree: string;
  conflicts: Conflict[];
  /** Git's messages about the conflicts, a line each. */
  said: string[];
}

/** Merges two commits among git's objects: nothing is checked out, and no ref is touched. */
export async function mergeTrees(git: Git, ours: string, theirs: string): Promise<Merge> {
  const output = await git.run(['merge-tree', '--write-tree', '-z', ours, theirs], { orEndsWith: 1 });
  const [tree = '', ...fields] = output.toString('utf8').split('\0');
  const end = fields.indexOf('');
  const listed = end < 0 ? [] : fields.slice(0, end);
  const found = new Map<string, Conflict>();
  for (const entry of listed) {
    const [, blob = '', stage = '', path = ''] = /^\d+ ([0-9a-f]+) ([123])\t(.+)$/s.exec(entry) ?? [];
    if (path === '') continue;
    const conflict = found.get(path) ?? { path, versions: [null, null, null] };
    conflict.versions[Number(stage) - 1] = blob;
    found.set(path, conflict);
  }
  const messages = messagesIn(fields.slice(end + 1));
  // Some conflicts, such as a folder that was renamed in two ways, appear only in the messages.
  for (const { paths } of found.size === 0 ? messages : [])
    for (const path of paths) found.set(path, { path, versions: [null, null, null] });
  return { tree: tree.trim(), conflicts: [...found.values()], said: messages.map(({ text }) => text) };
}

/** Each is a count of paths, the paths, the kind, and the text. A clean merge has none. */
function messagesIn(fields: readonly string[]): { paths: string[]; text: string }[] {
  const messages: { paths: string[]; text: string }[] = [];
  for (let at = 0; at + 1 < fields.length; ) {
    const count = Number(fields[at]);
    const paths = fields.slice(at + 1, at + 1 + count);
    const [kind = '', text = ''] = fields.slice(at + 1 + count, at + 3 + count);
    if (kind.startsWith('CONFLICT')) messages.push({ paths, text: text.trim() });
    at += count + 3;
  }
  return messages;
}

/** Deterministic: the same inputs make the same commit, so that steps for it are reused. */
export async function commitMerge(
  git: Git,
  { tree, ours, theirs, message }: { tree: string; ours: string; theirs: string; message: string },
): Promise<string> {
  const dates = await git.text(['show', '--no-patch', '--format=%ct', ours, theirs]);
  const date = `@${Math.max(...dates.split('\n').map(Number))} +0000`;
  const env = { GIT_AUTHOR_DATE: date, GIT_COMMITTER_DATE: date };
  const args = ['-c', 'i18n.commitEncoding=UTF-8', 'commit-tree', tree, '-p', ours, '-p', theirs, '-F', '-'];
  return git.text(args, { env, input: message });
}
