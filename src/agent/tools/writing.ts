import { unlink } from 'node:fs/promises';
import { z } from 'zod';
import type { WriteRequest } from '../port.ts';
import { NotDone, type Tool } from '../tool.ts';
import { notWritten, readText, saveText } from '../worktree-files.ts';
import { locate, namedPath, type Worktree } from '../worktree-path.ts';

const path = z.string().describe('The file, relative to the root of the repository.');

const writeSchema = z.object({ path, content: z.string().describe('The whole new content of the file.') });

export const write = (worktree: Worktree): Tool<typeof writeSchema> => ({
  name: 'write',
  description: 'Writes a whole file, new or in place of the old one. Folders that are missing are made.',
  schema: writeSchema,
  changes: true,
  about: ({ path }) => path,
  async run({ path: asked, content }) {
    const place = await locate(worktree, asked, 'write');
    const { path, kind } = place;
    if (kind !== 'file' && kind !== 'missing')
      throw new NotDone(`${path} is ${kind === 'folder' ? 'a folder' : 'not a regular file'}`);
    const lines = content === '' ? 0 : content.replace(/\n$/, '').split('\n').length;
    await saveText(place, content);
    // The same text for new and old files: after a restart an ignored file may exist, and the result must not differ.
    return { text: `Wrote ${path}.`, note: `(${lines} ${lines === 1 ? 'line' : 'lines'})` };
  },
});

const editSchema = z.object({
  path,
  search: z.string().describe('The exact text to replace, without line numbers. It has to occur exactly once.'),
  replace: z.string().describe('What stands there instead.'),
  all: z.boolean().optional().describe('Replace every occurrence.'),
});

export const edit = (worktree: Worktree): Tool<typeof editSchema> => ({
  name: 'edit',
  description: 'Replaces a piece of a file. The text to replace has to be exact, with its spaces and line breaks.',
  schema: editSchema,
  changes: true,
  about: ({ path }) => path,
  async run({ path: asked, search, replace, all = false }) {
    const place = await locate(worktree, asked, 'write');
    await saveText(place, replaced(await readText(place), search, replace, all));
    return { text: `Edited ${place.path}.` };
  },
});

function replaced(text: string, search: string, replace: string, all: boolean): string {
  if (search === '') throw new NotDone('the text to search for is empty: write the whole file instead');
  if (search === replace) throw new NotDone('the replacement is the same text');
  // Models see and write plain line feeds.
  if (!text.includes(search) && text.includes('\r\n') && !search.includes('\r') && search.includes('\n')) {
    return replaced(text, search.replaceAll('\n', '\r\n'), replace.replaceAll(/\r?\n/g, '\r\n'), all);
  }
  const first = text.indexOf(search);
  if (first === -1) throw new NotDone('the text to search for is not there: read the file again');
  if (all) return text.split(search).join(replace);
  if (text.includes(search, first + 1))
    throw new NotDone('the text to search for occurs more than once: give more of what is around it, or all');
  return text.slice(0, first) + replace + text.slice(first + search.length);
}

const removeSchema = z.object({ path });

export const remove = (worktree: Worktree): Tool<typeof removeSchema> => ({
  name: 'remove',
  description: 'Removes one file. A link is removed, not what it leads to.',
  schema: removeSchema,
  changes: true,
  about: ({ path }) => path,
  async run({ path: asked }) {
    const place = await locate(worktree, asked, 'remove');
    const { path, absolute, kind } = place;
    if (kind === 'missing') throw new NotDone(`there is no ${path}`);
    if (kind === 'folder') throw new NotDone(`${path} is a folder: remove its files one by one`);
    await unlink(absolute).catch((error: unknown) => {
      throw notWritten(error, place);
    });
    return { text: `Removed ${path}.` };
  },
});

const MOST_FILES = 50;
const testsSchema = z.object({
  files: z
    .array(z.string())
    .max(MOST_FILES)
    .optional()
    .describe('Test files, relative to the root of the repository; without them, all tests run.'),
});

/** Its result does not follow from the files alone: `run` stores it. */
export const runTests = (worktree: Worktree, run: NonNullable<WriteRequest['runTests']>): Tool<typeof testsSchema> => ({
  name: 'run_tests',
  description:
    'Runs the tests of the repository on the files as they are now. Gives the counts, and what failed and why.',
  schema: testsSchema,
  // Not aborted before its processes have ended.
  changes: true,
  about: ({ files = [] }) => (files.length === 0 ? 'all' : files.join(', ')),
  async run({ files = [] }) {
    const paths = [...new Set(files.map((file) => namedPath(worktree, file, 'read')))];
    const tried = await run(paths.length === 0 ? null : paths);
    if ('refused' in tried) throw new NotDone(tried.refused);
    return { text: tried.text, note: `(${tried.summary})` };
  },
});
