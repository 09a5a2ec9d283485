import { execFileSync } from 'node:child_process';
import { chmod, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { worktreeTools } from '../../src/agent/built-in.ts';
import type { ToolResult } from '../../src/agent/tools.ts';
import { openWorktree, type Worktree } from '../../src/agent/worktree.ts';
import { testFolder } from './folder.ts';

export interface ToolWorktree {
  /** Around the worktree: what is here is outside. */
  outside: string;
  worktree: Worktree;
  run(tool: string, input: unknown, signal?: AbortSignal): Promise<ToolResult>;
  put(path: string, content: string | Uint8Array, mode?: number): Promise<void>;
  link(path: string, target: string): Promise<void>;
  text(path: string): Promise<string>;
}

/** A repository with these files, none of them committed. */
export async function toolWorktree(files: Record<string, string> = {}): Promise<ToolWorktree> {
  const outside = await testFolder();
  const root = join(outside, 'work tree');
  await mkdir(root);
  execFileSync('git', ['init', '--quiet', '.'], { cwd: root });
  const worktree = await openWorktree(root);
  const place = async (path: string): Promise<string> => {
    await mkdir(dirname(join(root, path)), { recursive: true });
    return join(root, path);
  };
  const put = async (path: string, content: string | Uint8Array, mode = 0o644): Promise<void> => {
    await writeFile(await place(path), content);
    await chmod(join(root, path), mode);
  };
  for (const [path, content] of Object.entries(files)) await put(path, content);
  const tools = worktreeTools(worktree);
  return {
    outside,
    worktree,
    put,
    run: (toolName, input, signal = new AbortController().signal) =>
      tools.run({ toolName, input: JSON.stringify(input) }, signal),
    link: async (path, target) => symlink(target, await place(path)),
    text: (path) => readFile(join(root, path), 'utf8'),
  };
}
