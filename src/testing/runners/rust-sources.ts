import { readdir } from 'node:fs/promises';
import { posix } from 'node:path';
import type { TestTarget } from '../reports/libtest.ts';

type Target = Pick<TestTarget, 'source' | 'crate'>;

export interface RustSources {
  /** Null where several crates of a workspace have a file of that name. */
  fileOf(target: Target): string | null;
  /** Where a test is, by the modules in its name. */
  testOf(target: Target, name: string): { file: string | null; name: string };
}

export async function createRustSources(worktree: string): Promise<RustSources> {
  const sources = new Set(await rustFiles(worktree, ''));
  const fileNamed = (path: string): string | null => {
    const found = [...sources].filter((file) => file === path || file.endsWith(`/${path}`));
    return found.length === 1 ? (found[0] ?? null) : null;
  };
  const fileOf = ({ source }: Target): string | null => (source === null ? null : fileNamed(source));
  return {
    fileOf,
    testOf(target, name) {
      const [, documented, rest] = /^(\S+\.rs) - (.*)$/.exec(name) ?? [];
      const parts = documented === undefined ? name.split('::') : [rest ?? ''];
      const root = documented === undefined ? fileOf(target) : fileNamed(documented);
      if (root === null) return { file: null, name: [target.crate, ...parts].join(' > ') };
      return { file: moduleFile(root, parts.slice(0, -1)), name: parts.join(' > ') };
    },
  };

  /** The deepest file that the modules lead to: `a::b::tests` is in `src/a/b.rs`. */
  function moduleFile(root: string, modules: readonly string[]): string {
    for (let depth = modules.length; depth > 0; depth -= 1) {
      const place = posix.join(posix.dirname(root), ...modules.slice(0, depth));
      const file = [`${place}.rs`, `${place}/mod.rs`].find((path) => sources.has(path));
      if (file !== undefined) return file;
    }
    return root;
  }
}

const PASSED_OVER = new Set(['target', 'node_modules', '.git', '.agentos']);

async function rustFiles(worktree: string, folder: string): Promise<string[]> {
  const entries = await readdir(posix.join(worktree, folder), { withFileTypes: true });
  const found = await Promise.all(
    entries.map(async (entry) => {
      const path = posix.join(folder, entry.name);
      if (entry.isDirectory()) return PASSED_OVER.has(entry.name) ? [] : await rustFiles(worktree, path);
      return entry.name.endsWith('.rs') ? [path] : [];
    }),
  );
  return found.flat();
}
