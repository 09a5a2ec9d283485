import { z } from 'zod';
import { failed, type Tool } from '../tool.ts';
import { saveText } from '../worktree-files.ts';
import { locate, type Worktree } from '../worktree-path.ts';

const schema = z.object({
  path: z.string().describe('The file, relative to the root of the repository.'),
  content: z.string().describe('The whole new content of the file.'),
});

export const write = (worktree: Worktree): Tool<typeof schema> => ({
  name: 'write',
  description: 'Writes a whole file, new or in place of the old one. Folders that are missing are made.',
  schema,
  changes: true,
  async run({ path: asked, content }) {
    const located = await locate(worktree, asked, 'write');
    if (!located.ok) return failed(`write ${asked}`, located.why);
    const { path, kind } = located.place;
    if (kind !== 'file' && kind !== 'missing')
      return failed(`write ${path}`, `${path} is ${kind === 'folder' ? 'a folder' : 'not a regular file'}`);
    const lines = content === '' ? 0 : content.replace(/\n$/, '').split('\n').length;
    const refused = await saveText(located.place, content);
    if (refused !== null) return failed(`write ${path}`, refused);
    // Not whether the file was there: what git ignores outlives a restart, and the result must not differ.
    return { ok: true, text: `Wrote ${path}.`, line: `write ${path} (${lines} ${lines === 1 ? 'line' : 'lines'})` };
  },
});
