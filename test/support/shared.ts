import { afterAll, onTestFinished } from 'vitest';
import { newFolder, removeOrKeep } from './folder.ts';

/** Where something shared is made, and how what it started is ended. */
export interface SharedPlace {
  folder: string;
  onEnd: (undo: () => Promise<unknown>) => void;
}

/**
 * Something that several tests of a file look at, e.g. one run of the program: made when the first of them asks for it. Its folder
 * is removed after the last test, or kept and printed if one that asked for it failed.
 */
export function shared<T>(make: (place: SharedPlace) => Promise<T>): () => Promise<T> {
  let made: Promise<T> | null = null;
  let folder: string | null = null;
  let hasFailed = false;
  const undo: (() => Promise<unknown>)[] = [];
  afterAll(async () => {
    for (const end of undo.toReversed()) await end();
    if (folder !== null) await removeOrKeep(folder, hasFailed);
  });
  const start = async (): Promise<T> => {
    folder = await newFolder();
    return make({ folder, onEnd: (end) => void undo.push(end) });
  };
  return () => {
    onTestFinished(({ task }) => {
      hasFailed ||= task.result?.state === 'fail';
    });
    made ??= start();
    return made;
  };
}
