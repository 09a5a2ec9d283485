import { z } from 'zod';
import { failed, type Tool } from '../tool.ts';
import { worktreeFiles } from '../worktree-files.ts';
import { locate, type Worktree } from '../worktree-path.ts';

const MOST_LINES = 400;
const MOST_CHARS = 24_000;

const schema = z.object({
  path: z.string().optional().describe('A folder; without it, the whole repository.'),
});

export const list = (worktree: Worktree): Tool<typeof schema> => ({
  name: 'list',
  description:
    'Lists the files below a folder. Where there are too many, deep folders are shown with a count of files.',
  schema,
  changes: false,
  async run({ path: asked = '.' }) {
    const located = await locate(worktree, asked, 'read');
    if (!located.ok) return failed(`list ${asked}`, located.why);
    const { path, kind } = located.place;
    const line = `list ${path}`;
    if (kind !== 'folder') return failed(line, kind === 'missing' ? `there is no ${path}` : `${path} is not a folder`);
    const files = filesBelow(await worktreeFiles(worktree), path);
    const none = `No files below ${path}; ignored and installed ones are not listed.`;
    return { ok: true, text: files.length === 0 ? none : listing(files, path), line };
  },
});

/** All of them for the worktree itself. */
function filesBelow(files: readonly string[], folder: string): string[] {
  return folder === '.' ? [...files] : files.filter((file) => file.startsWith(`${folder}/`));
}

function listing(files: readonly string[], folder: string): string {
  const top = folder === '.' ? 0 : folder.split('/').length;
  const deepest = files.reduce((most, file) => Math.max(most, file.split('/').length), 0);
  let lines = [...files];
  for (let depth = deepest - 1; !fits(lines) && depth > top; depth--) lines = folded(files, depth);
  const shown: string[] = [];
  let chars = 0;
  for (const line of lines) {
    chars += line.length + 1;
    if (shown.length >= MOST_LINES || chars > MOST_CHARS) break;
    shown.push(line);
  }
  if (shown.length < lines.length) shown.push(`… and ${lines.length - shown.length} more: search for a name instead`);
  return shown.join('\n');
}

function fits(lines: readonly string[]): boolean {
  return lines.length <= MOST_LINES && lines.reduce((sum, line) => sum + line.length + 1, 0) <= MOST_CHARS;
}

function folded(files: readonly string[], depth: number): string[] {
  const counts = new Map<string, number>();
  for (const file of files) {
    const segments = file.split('/');
    const line = segments.length > depth ? `${segments.slice(0, depth).join('/')}/` : file;
    counts.set(line, (counts.get(line) ?? 0) + 1);
  }
  return [...counts].map(([line, count]) => (line.endsWith('/') ? `${line} (${count} files)` : line));
}
