import { dirname, join, relative } from 'node:path';
import { writeFileAtomic } from '../process/files.ts';
import { namesInside, readText } from '../process/text-file.ts';
import type { ItemContext } from './item.ts';

export type VersionKind = 'issue' | 'draft' | 'verdict' | 'final';

/** The number after the highest one in the folder: earlier versions are never overwritten. */
export function nextVersionNumber(directory: string): number {
  const names = namesInside(directory, dirname(directory));
  const numbers = names.map((name) => Number(/^(\d{3,})-/.exec(name)?.[1] ?? 0));
  return Math.max(0, ...numbers) + 1;
}

export function versionName(number: number, kind: VersionKind): string {
  return `${String(number).padStart(3, '0')}-${kind}.md`;
}

export interface Lineage {
  /** The number of the next version. */
  readonly nextNumber: number;
  /** Numbers follow the order of calls, so that a resumed item writes the same files again, with the same content. */
  add(kind: VersionKind, text: string): Promise<void>;
}

export function createLineage(
  { paths, emit }: Pick<ItemContext, 'paths' | 'emit'>,
  directory: string,
  firstNumber: number,
): Lineage {
  let number = firstNumber;
  return {
    get nextNumber() {
      return number;
    },
    async add(kind, text) {
      const path = join(directory, versionName(number, kind));
      number += 1;
      const content = text.endsWith('\n') ? text : `${text}\n`;
      if (readText(path, dirname(directory)) === content) return;
      await writeFileAtomic(path, content);
      emit({ type: 'file-written', path: relative(paths.repository, path), what: 'lineage' });
    },
  };
}
