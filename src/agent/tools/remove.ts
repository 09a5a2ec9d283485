import { unlink } from 'node:fs/promises';
import { z } from 'zod';
import { failed, type Tool } from '../tool.ts';
import { reasonOf } from '../worktree-files.ts';
import { locate, type Worktree } from '../worktree-path.ts';

const schema = z.object({ path: z.string().describe('The file, relative to the root of the repository.') });

export const remove = (worktree: Worktree): Tool<typeof schema> => ({
  name: 'remove',
  description: 'Removes one file. A link is removed, not what it leads to.',
  schema,
  changes: true,
  async run({ path: asked }) {
    const located = await locate(worktree, asked, 'remove');
    if (!located.ok) return failed(`remove ${asked}`, located.why);
    const { path, absolute, kind } = located.place;
    const line = `remove ${path}`;
    if (kind === 'missing') return failed(line, `there is no ${path}`);
    if (kind === 'folder') return failed(line, `${path} is a folder: remove its files one by one`);
    try {
      await unlink(absolute);
    } catch (error) {
      return failed(line, reasonOf(error, located.place));
    }
    return { ok: true, text: `Removed ${path}.`, line };
  },
});
