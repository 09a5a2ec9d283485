import { z } from 'zod';
import { untilAborted } from '../../models/call-bounds.ts';
import { createLiteralMatcher, createPatternMatcher, type LineMatcher } from '../line-matcher.ts';
import { readText } from '../text-file.ts';
import { failed, type Tool, type ToolResult } from '../tool.ts';
import { worktreeFiles } from '../worktree-files.ts';
import { locate, type Worktree } from '../worktree-path.ts';
import { filesBelow } from './list.ts';

const DEADLINE_MS = 30_000;
const MOST_MATCHES = 200;
const MOST_CHARS = 24_000;
const LONGEST_LINE = 300;
const LARGEST_FILE_BYTES = 1024 * 1024;
const READ_AT_ONCE = 16;

const schema = z.object({
  text: z.string().describe('What to look for within single lines.'),
  regex: z.boolean().optional().describe('The text is a JavaScript regular expression.'),
  ignoreCase: z.boolean().optional(),
  path: z.string().optional().describe('A file, or a folder to look below; without it, the whole repository.'),
});

export const search: Tool<typeof schema> = {
  name: 'search',
  description: 'Finds lines in the files of the repository. Gives path, line number and line of each match.',
  schema,
  changes: false,
  async run({ text, regex = false, ignoreCase = false, path: asked = '.' }, { worktree, signal }) {
    const line = `search ${JSON.stringify(text)}${asked === '.' ? '' : ` in ${asked}`}`;
    if (text === '' || (!regex && text.includes('\n'))) return failed(line, 'give a piece of a single line');
    const located = await locate(worktree, asked, 'read');
    if (!located.ok) return failed(line, located.why);
    const { path, kind } = located.place;
    if (kind !== 'folder') {
      const file = await readText(located.place, LARGEST_FILE_BYTES);
      if (!file.ok) return failed(line, file.why);
    }
    const pattern = regex ? compiled(text, ignoreCase) : null;
    if (typeof pattern === 'string') return failed(line, `the regular expression is not one: ${pattern}`);

    const files = kind === 'folder' ? filesBelow(await worktreeFiles(worktree.root), path) : [path];
    const matcher = pattern === null ? createLiteralMatcher(text, ignoreCase) : createPatternMatcher(pattern);
    const deadline = AbortSignal.timeout(DEADLINE_MS);
    const stop = AbortSignal.any([signal, deadline]);
    try {
      return await untilAborted(stop, searchFiles({ worktree, files, matcher, stop, line }));
    } catch (error) {
      signal.throwIfAborted();
      if (!deadline.aborted) throw error;
      return failed(line, 'it took too long: make it simpler, or name a path');
    } finally {
      await matcher.close();
    }
  },
};

function compiled(source: string, ignoreCase: boolean): RegExp | string {
  try {
    return new RegExp(source, ignoreCase ? 'i' : '');
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

interface Search {
  worktree: Worktree;
  files: readonly string[];
  matcher: LineMatcher;
  stop: AbortSignal;
  line: string;
}

async function searchFiles({ worktree, files, matcher, stop, line }: Search): Promise<ToolResult> {
  const found: string[] = [];
  let chars = 0;
  let large = 0;
  const end = (more: boolean): ToolResult => {
    const notes = [
      ...(found.length === 0
        ? [`No match in ${files.length} files; ignored and installed ones are not searched.`]
        : []),
      ...(more ? ['(there are more matches: look for something rarer, or name a path)'] : []),
      ...(large > 0 ? [`(${large} files larger than ${LARGEST_FILE_BYTES} bytes were not searched)`] : []),
    ];
    return { ok: true, text: [...found, ...notes].join('\n'), line: `${line} (${found.length}${more ? '+' : ''})` };
  };
  for (let from = 0; from < files.length; from += READ_AT_ONCE) {
    stop.throwIfAborted();
    const batch = await Promise.all(
      files.slice(from, from + READ_AT_ONCE).map(async (file) => ({ file, ...(await linesOf(worktree, file)) })),
    );
    for (const { file, lines, tooLarge } of batch) {
      if (tooLarge) large += 1;
      if (lines === null) continue;
      const hits = await matcher.match(lines);
      if (hits === null) return failed(line, `the regular expression takes too long on ${file}: make it simpler`);
      for (const hit of hits) {
        const match = `${file}:${hit + 1}: ${(lines[hit] ?? '').slice(0, LONGEST_LINE)}`;
        chars += match.length + 1;
        if (found.length >= MOST_MATCHES || chars > MOST_CHARS) return end(true);
        found.push(match);
      }
    }
  }
  return end(false);
}

async function linesOf(worktree: Worktree, path: string): Promise<{ lines: string[] | null; tooLarge: boolean }> {
  const located = await locate(worktree, path, 'read');
  if (!located.ok || located.place.kind !== 'file') return { lines: null, tooLarge: false };
  const file = await readText(located.place, LARGEST_FILE_BYTES);
  return file.ok ? { lines: file.text.split(/\r?\n/), tooLarge: false } : { lines: null, tooLarge: file.tooLarge };
}
