import { z } from 'zod';
import type { Git } from '../../git/git.ts';
import { NotDone, type Tool } from '../tool.ts';
import { found, type ReadableFiles } from './reading.ts';

const symbolSchema = z.object({
  name: z.string().describe('The name of a function, class, type, method or constant.'),
  path: z.string().optional().describe('A file, or a folder to look below; without it, the whole repository.'),
});

/** Words of many languages that stand before a name that is declared there. */
const DECLARING =
  'class|interface|type|enum|struct|union|trait|impl|protocol|record|object|namespace|module|mod|package|function|func|fn|def|fun|sub|proc|macro|const|let|var|val|static|define|typedef|data|defp|defn|defmodule';
const MODIFIERS = '(public|private|protected|internal|static|async|override|virtual|abstract|final|readonly|get|set)';

/** Where a name is declared: behind a word that declares, as a method that a block follows, or as a function's value. */
function declarationOf(name: string): string {
  const word = name.replaceAll('$', '\\$');
  const before = '(^|[^[:alnum:]_$])';
  const after = '($|[^[:alnum:]_$])';
  return [
    `${before}(${DECLARING})[[:space:]*&]+(\\([^)]*\\)[[:space:]]*)?${word}${after}`,
    `^[[:space:]]*(${MODIFIERS}[[:space:]]+)*([[:alnum:]_<>,.*&?]+(\\[\\])?[[:space:]]+)?[*#&]?${word}[[:space:]]*(<[^()]*>)?\\([^;]*\\{[[:space:]]*$`,
    `${before}${word}[[:space:]]*(:[^=]*)?=[[:space:]]*(async[[:space:]]*)?(function|\\(|[[:alnum:]_]+[[:space:]]*=>|lambda)`,
  ].join('|');
}

/** A light search: a name that a language declares in another way is found with `search`. */
export const findSymbol = (files: ReadableFiles): Tool<typeof symbolSchema> => ({
  name: 'find_symbol',
  description: 'Finds the lines that declare a name. Gives path, line number and line of each.',
  schema: symbolSchema,
  changes: false,
  about: ({ name, path }) => `${name}${path === undefined ? '' : ` in ${path}`}`,
  async run({ name: asked, path: where = '.' }) {
    const name = asked.split(/[.#:]+/).at(-1) ?? '';
    if (!/^[\p{L}_$][\p{L}\p{N}_$]{0,99}$/u.test(name)) throw new NotDone('give one name, such as parseDate');
    const { path, kind } = await files.locate(where);
    if (kind !== 'folder') await files.read(where);
    return found(await files.search({ text: declarationOf(name), isRegex: true, ignoreCase: false, path }));
  },
});

const MOST_COMMITS = 30;
const historySchema = z.object({ path: z.string().describe('A file, relative to the root of the repository.') });

/** Subjects only: what a commit changed may hold what must not be shown. */
export const history = (files: ReadableFiles, git: Git, commit: string): Tool<typeof historySchema> => ({
  name: 'history',
  description: `Shows the last commits that changed a file, newest first, at most ${MOST_COMMITS}: hash, date and subject.`,
  schema: historySchema,
  changes: false,
  about: ({ path }) => path,
  async run({ path: asked }) {
    const { path } = await files.read(asked);
    const format = ['--no-show-signature', '--encoding=UTF-8', '--date=short', '--format=%H %ad %s'];
    const output = await git.text([
      'log',
      '--no-patch',
      `-n${MOST_COMMITS}`,
      ...format,
      commit,
      '--',
      `:(literal)${path}`,
    ]);
    // The shortest hash that is unique grows with the repository, and a resumed conversation has to see the same text.
    const lines = output.split('\n').map((line) => line.replace(/^([0-9a-f]{12})[0-9a-f]*/, '$1').slice(0, 300));
    return { text: lines.join('\n'), note: `(${lines.length})` };
  },
});
