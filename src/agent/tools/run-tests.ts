import { z } from 'zod';
import type { WriteRequest } from '../port.ts';
import { NotDone, type Tool } from '../tool.ts';
import { namedPath, type Worktree } from '../worktree-path.ts';

const MOST_FILES = 50;
const schema = z.object({
  files: z
    .array(z.string())
    .max(MOST_FILES)
    .optional()
    .describe('Test files, relative to the root of the repository; without them, all tests run.'),
});

/** Unlike the other tools it has no result that follows from the files: `runTests` stores what it says. */
export const runTests = (worktree: Worktree, run: NonNullable<WriteRequest['runTests']>): Tool<typeof schema> => ({
  name: 'run_tests',
  description:
    'Runs the tests of the repository on the files as they are now. Gives the counts, and what failed and why.',
  schema,
  // It is waited for until its processes have ended.
  changes: true,
  about: ({ files = [] }) => (files.length === 0 ? 'all' : files.join(', ')),
  async run({ files = [] }) {
    const paths = [...new Set(files.map((file) => namedPath(worktree, file, 'read')))];
    const tried = await run(paths.length === 0 ? null : paths);
    if ('refused' in tried) throw new NotDone(tried.refused);
    return { text: tried.text, note: `(${tried.summary})` };
  },
});
