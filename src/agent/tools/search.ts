import { z } from 'zod';
import { failed, type Tool } from '../tool.ts';
import { readText, searchLines } from '../worktree-files.ts';
import { locate, type Worktree } from '../worktree-path.ts';

const MOST_MATCHES = 200;
const MOST_CHARS = 24_000;
const LONGEST_LINE = 300;

const schema = z.object({
  text: z.string().describe('What to look for within single lines.'),
  regex: z.boolean().optional().describe('The text is a POSIX extended regular expression ([0-9], not \\d).'),
  ignoreCase: z.boolean().optional(),
  path: z.string().optional().describe('A file, or a folder to look below; without it, the whole repository.'),
});

export const search = (worktree: Worktree): Tool<typeof schema> => ({
  name: 'search',
  description: 'Finds lines in the files of the repository. Gives path, line number and line of each match.',
  schema,
  changes: false,
  async run({ text, regex: isRegex = false, ignoreCase = false, path: asked = '.' }) {
    const line = `search ${JSON.stringify(text)}${asked === '.' ? '' : ` in ${asked}`}`;
    if (text === '' || /[\n\0]/.test(text)) return failed(line, 'give a piece of a single line');
    const located = await locate(worktree, asked, 'read');
    if (!located.ok) return failed(line, located.why);
    const { path, kind } = located.place;
    if (kind !== 'folder') {
      const file = await readText(located.place);
      if (!file.ok) return failed(line, file.why);
    }
    const found = await searchLines(worktree, { text, isRegex, ignoreCase, path });
    if (typeof found === 'string') return failed(line, found);
    const shown: string[] = [];
    let chars = 0;
    for (const match of found.lines) {
      const told = `${match.path}:${match.line}: ${match.text.slice(0, LONGEST_LINE)}`;
      chars += told.length + 1;
      if (shown.length >= MOST_MATCHES || chars > MOST_CHARS) break;
      shown.push(told);
    }
    const isMore = found.cut || shown.length < found.lines.length;
    const notes = [
      ...(shown.length === 0 ? ['No match; ignored and installed files are not searched.'] : []),
      ...(isMore ? ['(there are more matches: look for something rarer, or name a path)'] : []),
    ];
    return { ok: true, text: [...shown, ...notes].join('\n'), line: `${line} (${shown.length}${isMore ? '+' : ''})` };
  },
});
