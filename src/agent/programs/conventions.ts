import { NotDone } from '../tool.ts';
import { readableWorktree } from '../worktree-files.ts';
import { openWorktree } from '../worktree-path.ts';
import { CONVENTIONS } from './agent.ts';

/** Of all of them: Claude Code gets them as an argument, and these have a limit. */
const MOST_CHARS = 30_000;

/**
 * What these files of a worktree say, for agents that don't read them by themselves: one that must not take the repository's
 * settings is kept from its guides too.
 */
export async function readConventions(directory: string): Promise<string> {
  const files = readableWorktree(await openWorktree(directory));
  const found = new Map<string, string>();
  for (const path of CONVENTIONS) {
    try {
      const { text } = await files.read(path);
      // One is often a link to, or a copy of, another.
      if (text.trim() !== '' && ![...found.values()].includes(text)) found.set(path, text);
    } catch (error) {
      if (!(error instanceof NotDone)) throw error;
    }
  }
  if (found.size === 0) return '';
  const shown = [...found].map(([path, text]) => `## ${path}\n\n${text.trim()}`);
  return ['How this repository wants to be worked on, in its own words:', ...shown].join('\n\n').slice(0, MOST_CHARS);
}
