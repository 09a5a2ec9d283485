import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Ask } from '../runner.ts';
import type { ShellWord } from '../shell-script.ts';
import { isJavaScriptTest } from './javascript-files.ts';

/** From this version on, Node takes patterns for its tests, and no folders any more. */
const TAKES_PATTERNS = 21;

/** Patterns for the arguments of `node --test` that are folders, where the Node that is used can't do with a folder. */
export async function patternsForFolders(
  words: readonly ShellWord[],
  worktree: string,
  ask: Ask,
): Promise<ReadonlyMap<ShellWord, string>> {
  const folders = words.filter(({ text }) => /^[^*?[{]+$/.test(text) && !/\.[cm]?[jt]sx?$/.test(text));
  if (folders.length === 0) return new Map();
  const { stdout } = await ask('node --version');
  const major = Number(/^v(\d+)\./.exec(stdout)?.[1] ?? TAKES_PATTERNS);
  if (major < TAKES_PATTERNS) return new Map();
  const found = folders.map(async (word) => {
    const folder = word.text.replace(/\/$/, '');
    const files = await readdir(join(worktree, folder), { recursive: true }).catch(() => []);
    // Where no file has the name of a test, all of them are tests.
    const isNamed = files.length === 0 || files.some(isJavaScriptTest);
    return [word, `${folder}/**/${isNamed ? '{test,test-*,*[._-]test,*[._-]spec}' : '*'}.?(c|m)[jt]s`] as const;
  });
  return new Map(await Promise.all(found));
}
