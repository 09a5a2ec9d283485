import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { writeFileAtomic } from '../workspace/atomic-file.ts';

export type VersionKind = 'issue' | 'draft' | 'verdict' | 'final';

/** The number after the highest one in the folder: earlier versions are never overwritten. */
export async function nextVersionNumber(directory: string): Promise<number> {
  const names = await readdir(directory).catch(() => []);
  const numbers = names.map((name) => Number(/^(\d{3,})-/.exec(name)?.[1] ?? 0));
  return Math.max(0, ...numbers) + 1;
}

export interface Lineage {
  /** Numbers follow the order of calls, so that a resumed item writes the same files again, with the same content. */
  add(kind: VersionKind, text: string): Promise<void>;
}

export function createLineage(directory: string, firstNumber: number, onWritten: (path: string) => void): Lineage {
  let number = firstNumber;
  return {
    async add(kind, text) {
      const path = join(directory, `${String(number).padStart(3, '0')}-${kind}.md`);
      number += 1;
      const content = text.endsWith('\n') ? text : `${text}\n`;
      if ((await readFile(path, 'utf8').catch(() => null)) === content) return;
      await writeFileAtomic(path, content);
      onWritten(path);
    },
  };
}
