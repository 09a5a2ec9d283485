import { realpathSync } from 'node:fs';
import { posix, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

const EXTENSIONS = ['js', 'ts', 'tsx', 'jsx', 'mjs', 'cjs', 'mts', 'cts', 'json', 'vue', 'svelte'];
const FROM_TYPESCRIPT: Readonly<Record<string, readonly string[]>> = {
  '.js': ['.ts', '.tsx'],
  '.jsx': ['.tsx'],
  '.mjs': ['.mts'],
  '.cjs': ['.cts'],
};
/** How projects abbreviate the folder of their sources. */
const ALIAS = /^(?:@|~|#|\$lib)\/(.+)$|^#([^/].*)$|^((?:src|app|lib)\/.+)$/;
const OUTPUT = /^(?:dist|build|out|lib|output|compiled)\/(.+)$/;

export interface Import {
  /** As written in the import, or the path that it was resolved to. */
  specifier: string;
  /** Relative to the worktree or absolute; null where nobody tells. */
  importer: string | null;
  /** Node takes an import in an ES module literally: no ending is added, no index file looked for. */
  isLiteral: boolean;
}

/** The one of these paths that an import means; null where it means none of them. */
export function importedPath(found: Import, paths: readonly string[], worktree: string): string | null {
  const specifier = found.specifier.replace(/\?.*$/, '');
  const alias = ALIAS.exec(specifier);
  const aliased = alias?.[1] ?? alias?.[2] ?? alias?.[3];
  if (aliased !== undefined) {
    return paths.find((path) => candidates(aliased, false).some((name) => isSuffix(path, name))) ?? null;
  }
  const base = basePath(specifier, found.importer, worktree);
  if (base === null) return null;
  const names = new Set(candidates(base, found.isLiteral));
  const direct = paths.find((path) => names.has(posix.normalize(path)));
  if (direct !== undefined) return direct;
  // What is imported from the compiler's folder is written elsewhere, and in TypeScript.
  const compiled = OUTPUT.exec(base)?.[1];
  if (compiled === undefined) return null;
  const written = new Set([compiled, `src/${compiled}`].flatMap((name) => candidates(name, found.isLiteral)));
  return paths.find((path) => /\.[cm]?tsx?$/.test(path) && written.has(posix.normalize(path))) ?? null;
}

function basePath(specifier: string, importer: string | null, worktree: string): string | null {
  if (specifier.startsWith('.')) {
    const from = importer === null ? null : relativePath(importer, worktree);
    return from === null ? null : posix.join(posix.dirname(from), specifier);
  }
  if (specifier.startsWith('/') || specifier.startsWith('file:')) {
    // Vite writes paths from the root of the project.
    return relativePath(specifier, worktree) ?? specifier.replace(/^\/+/, '');
  }
  return null;
}

function candidates(base: string, isLiteral: boolean): string[] {
  const extension = posix.extname(base);
  const stem = base.slice(0, base.length - extension.length);
  const exact = [base, ...(FROM_TYPESCRIPT[extension] ?? []).map((ending) => `${stem}${ending}`)];
  if (isLiteral) return exact;
  const folder = base.replace(/\/$/, '');
  return [...exact, ...EXTENSIONS.flatMap((ending) => [`${folder}.${ending}`, posix.join(folder, `index.${ending}`)])];
}

function isSuffix(path: string, name: string): boolean {
  return path === name || path.endsWith(`/${name}`);
}

/** Null for a path outside of the worktree. */
export function relativePath(path: string, worktree: string): string | null {
  const plain = (path.startsWith('file:') ? fileURLToPath(path) : path).split(sep).join('/');
  if (!plain.startsWith('/')) return posix.normalize(plain);
  for (const root of [worktree, realpathSync(worktree)]) {
    const prefix = `${root.split(sep).join('/')}/`;
    if (plain.startsWith(prefix)) return posix.normalize(plain.slice(prefix.length));
  }
  return null;
}
