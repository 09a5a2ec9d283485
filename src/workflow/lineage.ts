import { dirname, join, relative } from 'node:path';
import { writeFileAtomic } from '../process/files.ts';
import { namesInside, readText } from '../process/text-file.ts';
import type { ItemContext } from './item.ts';

export type VersionKind = 'issue' | 'draft' | 'verdict' | 'final';

/** The number after the highest one in the folder. */
export function nextVersionNumber(directory: string): number {
  return Math.max(0, ...numbersIn(directory)) + 1;
}

function numbersIn(directory: string): number[] {
  const names = namesInside(directory, dirname(directory));
  return names.map((name) => Number(/^(\d{3,})-/.exec(name)?.[1] ?? 0));
}

export function versionName(number: number, kind: VersionKind): string {
  return `${String(number).padStart(3, '0')}-${kind}.md`;
}

/**
 * The number for a version, `from` on: the one under which it is there already, `from` itself where that is free, else the
 * one after the highest. An item that is resumed with other models may come to other versions: none replaces an earlier
 * one, and no number is used twice.
 */
export function placeVersion(
  directory: string,
  from: number,
  kind: VersionKind,
  content: string,
): { number: number; isThere: boolean } {
  const taken = numbersIn(directory)
    .filter((number) => number >= from)
    .sort((a, b) => a - b);
  for (const number of taken) {
    const text = readText(join(directory, versionName(number, kind)), dirname(directory));
    if (text === content) return { number, isThere: true };
  }
  return { number: taken.includes(from) ? (taken.at(-1) ?? 0) + 1 : from, isThere: false };
}

export interface Lineage {
  /** The number of the next version. */
  readonly nextNumber: number;
  /** Numbers follow the order of calls, so that a resumed item finds the files that it wrote. Returns the path. */
  add(kind: VersionKind, text: string): Promise<string>;
}

export function createLineage(
  { paths, emit }: Pick<ItemContext, 'paths' | 'emit'>,
  directory: string,
  firstNumber: number,
): Lineage {
  let nextNumber = firstNumber;
  return {
    get nextNumber() {
      return nextNumber;
    },
    async add(kind, text) {
      const content = text.endsWith('\n') ? text : `${text}\n`;
      const { number, isThere } = placeVersion(directory, nextNumber, kind, content);
      const path = join(directory, versionName(number, kind));
      nextNumber = number + 1;
      if (isThere) return path;
      await writeFileAtomic(path, content);
      emit({ type: 'file-written', path: relative(paths.repository, path), what: 'lineage' });
      return path;
    },
  };
}
