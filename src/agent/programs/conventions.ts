import { NotDone } from '../tool.ts';
import { readableWorktree } from '../worktree-files.ts';
import { openWorktree } from '../worktree-path.ts';
import { CONVENTIONS } from './agent.ts';

/** Claude Code gets them as an argument, whose length is limited. */
const MOST_CHARS = 30_000;

/** The repository's guides, for agents that must not read its settings, and so don't read its guides by themselves. */
export async function readConventions(directory: string): Promise<string> {
  const files = readableWorktree(await openWorktree(directory));
  const found = new Map<string, string>();
  for (const path of CONVENTIONS) {
    try {
      const { text } = await files.read(path);
      // One is often a link to another, or a copy.
      if (text.trim() !== '' && ![...found.values()].includes(text)) found.set(path, text);
    } catch (error) {
      if (!(error instanceof NotDone)) throw error;
    }
  }
  if (found.size === 0) return '';
  const shown = [...found].map(([path, text]) => `## ${path}\n\n${text.trim()}`);
  return ['How this repository wants to be worked on, in its own words:', ...shown].join('\n\n').slice(0, MOST_CHARS);
}
