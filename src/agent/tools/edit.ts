import { z } from 'zod';
import { failed, type Tool } from '../tool.ts';
import { readText, saveText } from '../worktree-files.ts';
import { locate, type Worktree } from '../worktree-path.ts';

const schema = z.object({
  path: z.string().describe('The file, relative to the root of the repository.'),
  search: z.string().describe('The exact text to replace, without line numbers. It has to occur exactly once.'),
  replace: z.string().describe('What stands there instead.'),
  all: z.boolean().optional().describe('Replace every occurrence.'),
});

export const edit = (worktree: Worktree): Tool<typeof schema> => ({
  name: 'edit',
  description: 'Replaces a piece of a file. The text to replace has to be exact, with its spaces and line breaks.',
  schema,
  changes: true,
  async run({ path: asked, search, replace, all = false }) {
    const located = await locate(worktree, asked, 'write');
    if (!located.ok) return failed(`edit ${asked}`, located.why);
    const { path } = located.place;
    const line = `edit ${path}`;
    const file = await readText(located.place);
    if (!file.ok) return failed(line, file.why);
    const edited = replaced(file.text, search, replace, all);
    if (!edited.ok) return failed(line, edited.why);
    const refused = await saveText(located.place, edited.text);
    return refused === null ? { ok: true, text: `Edited ${path}.`, line } : failed(line, refused);
  },
});

type Replaced = { ok: true; text: string } | { ok: false; why: string };

function replaced(text: string, search: string, replace: string, all: boolean): Replaced {
  if (search === '') return { ok: false, why: 'the text to search for is empty: write the whole file instead' };
  if (search === replace) return { ok: false, why: 'the replacement is the same text' };
  // Models see and write plain line feeds.
  if (!text.includes(search) && text.includes('\r\n') && !search.includes('\r') && search.includes('\n')) {
    return replaced(text, search.replaceAll('\n', '\r\n'), replace.replaceAll(/\r?\n/g, '\r\n'), all);
  }
  const first = text.indexOf(search);
  if (first === -1) return { ok: false, why: 'the text to search for is not there: read the file again' };
  if (all) return { ok: true, text: text.split(search).join(replace) };
  if (text.includes(search, first + 1)) {
    return { ok: false, why: 'the text to search for occurs more than once: give more of what is around it, or all' };
  }
  return { ok: true, text: text.slice(0, first) + replace + text.slice(first + search.length) };
}
