import { z } from 'zod';
import { failed, type Tool } from '../tool.ts';
import { readText } from '../worktree-files.ts';
import { locate, type Worktree } from '../worktree-path.ts';

const MOST_LINES = 1_000;
const MOST_CHARS = 40_000;
const LONGEST_LINE = 2_000;

const schema = z.object({
  path: z.string().describe('The file, relative to the root of the repository.'),
  offset: z.number().int().min(1).optional().describe('The first line to show, counted from 1.'),
  limit: z.number().int().min(1).optional().describe(`How many lines to show; at most ${MOST_LINES}.`),
});

export const read = (worktree: Worktree): Tool<typeof schema> => ({
  name: 'read',
  description: 'Shows a file with line numbers. The number and the tab before each line are not part of the file.',
  schema,
  changes: false,
  async run({ path: asked, offset = 1, limit = MOST_LINES }) {
    const located = await locate(worktree, asked, 'read');
    if (!located.ok) return failed(`read ${asked}`, located.why);
    const { path } = located.place;
    const file = await readText(located.place);
    if (!file.ok) return failed(`read ${path}`, file.why);
    const lines = linesOf(file.text);
    if (lines.length === 0) return { ok: true, text: `${path} is empty.`, line: `read ${path}` };
    if (offset > lines.length) return failed(`read ${path}`, `${path} has only ${lines.length} lines`);
    const shown = numbered(lines, offset, Math.min(limit, MOST_LINES));
    const last = offset + shown.length - 1;
    const more =
      last < lines.length ? [`(lines ${offset}–${last} of ${lines.length}; read on with offset ${last + 1})`] : [];
    return { ok: true, text: [...shown, ...more].join('\n'), line: `read ${path} ${offset}–${last}` };
  },
});

function linesOf(text: string): string[] {
  const lines = text.replace(/^\ufeff/, '').split(/\r?\n/);
  if (lines.at(-1) === '') lines.pop();
  return lines;
}

/** At least one line, and then as many as fit. */
function numbered(lines: readonly string[], offset: number, limit: number): string[] {
  const shown: string[] = [];
  let chars = 0;
  for (const [index, line] of lines.slice(offset - 1, offset - 1 + limit).entries()) {
    const cut = line.length > LONGEST_LINE ? `${line.slice(0, LONGEST_LINE)}… (${line.length} characters)` : line;
    chars += cut.length + 8;
    if (shown.length > 0 && chars > MOST_CHARS) break;
    shown.push(`${String(offset + index).padStart(6)}\t${cut}`);
  }
  return shown;
}
