import { readFile } from 'node:fs/promises';
import { writeFileAtomic } from '../process/atomic-file.ts';

/** What a finished item returned, and what for. */
export interface UserResult {
  /** Names the task and its input. */
  key: string;
  result: unknown;
}

/** The stored result for exactly this key; null: there is none. */
export async function readUserResult(file: string, key: string): Promise<UserResult | null> {
  try {
    const stored: unknown = JSON.parse(await readFile(file, 'utf8'));
    const isWanted = typeof stored === 'object' && stored !== null && 'key' in stored && stored.key === key;
    return isWanted && 'result' in stored ? { key, result: stored.result } : null;
  } catch {
    // Missing, or not ours: the item is worked on, and the file written anew.
    return null;
  }
}

/** On disk before the item's journal is removed, so that a kill between the two loses nothing. */
export function writeUserResult(file: string, { key, result }: UserResult): Promise<void> {
  return writeFileAtomic(file, `${JSON.stringify({ key, result: result ?? null })}\n`);
}
