import { basename } from 'node:path';
import { type Item, itemOfKey } from '../../core/item.ts';

/** What `clean --json` prints for each thing. */
export interface CleanEntry {
  kind: 'worktree' | 'branch' | 'checkpoint' | 'home' | 'undone' | 'run' | 'lock' | 'cache' | 'pins' | 'unfinished';
  name: string;
  path: string;
  why: string;
  /** The command that throws it away, for something that we keep. */
  discard: string | null;
}

/** Something that may be removed. */
export interface Candidate {
  entry: CleanEntry;
  /** Its lock is held during the removal. */
  item: Item | null;
  /** Null: it is kept. */
  remove: (() => unknown) | null;
}

export interface Cleaned {
  removed: CleanEntry[];
  kept: CleanEntry[];
}

/** `item`: by default the one whose key is the name. */
export function candidate(
  kind: CleanEntry['kind'],
  path: string,
  why: string,
  remove: Candidate['remove'],
  more: Partial<Pick<CleanEntry, 'name' | 'discard'> & Pick<Candidate, 'item'>> = {},
): Candidate {
  const { name = basename(path), discard = null, item = itemOfKey(name) } = more;
  return { entry: { kind, name, path, why, discard }, item, remove };
}
