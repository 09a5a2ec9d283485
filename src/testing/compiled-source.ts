import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { z } from 'zod';
import type { PathInWorktree } from './worktree-path.ts';

const mapSchema = z.object({ sourceRoot: z.string().optional(), sources: z.array(z.string()) });
const TYPESCRIPT: Readonly<Record<string, readonly string[]>> = {
  '.js': ['.ts', '.tsx'],
  '.mjs': ['.mts'],
  '.cjs': ['.cts'],
  '.jsx': ['.tsx'],
};

/**
 * For tests that are compiled before they run: the file that a person wrote, from the source map or else from a file of
 * the same name outside of the output folder. A file that nobody compiled is its own source.
 */
export function createSourceOf(worktree: string, pathInWorktree: PathInWorktree): PathInWorktree {
  const known = new Map<string, string | null>();
  return (path) => {
    const file = pathInWorktree(path);
    if (file === null) return null;
    const found = known.get(file) ?? mapped(file) ?? sameName(file) ?? file;
    known.set(file, found);
    return found;
  };

  function mapped(file: string): string | null {
    try {
      const map = mapSchema.parse(JSON.parse(readFileSync(join(worktree, `${file}.map`), 'utf8')));
      const [source, ...others] = map.sources;
      if (source === undefined || others.length > 0) return null;
      const place = resolve(worktree, dirname(file), map.sourceRoot ?? '', source);
      return existsSync(place) ? pathInWorktree(place) : null;
    } catch {
      return null;
    }
  }

  function sameName(file: string): string | null {
    const extension = /\.[cm]?jsx?$/.exec(file)?.[0] ?? '';
    const [output = '', ...rest] = file.slice(0, file.length - extension.length).split('/');
    if (!/^\.?(dist|build|out|lib|output|compiled|tmp|test-dist|dist-test)$/.test(output)) return null;
    const places = (TYPESCRIPT[extension] ?? []).flatMap((ending) => [
      `${rest.join('/')}${ending}`,
      `src/${rest.join('/')}${ending}`,
    ]);
    return places.find((place) => existsSync(join(worktree, place))) ?? null;
  }
}
