import type { LoadFailure } from '../port.ts';
import type { Changes } from './changes.ts';
import { type Import, importedPath } from './module-path.ts';

/** How the tools say that a module is not there: Node, Vitest and Jest, each in its own words. A path may hold quotes. */
const MISSING: readonly RegExp[] = [
  // Node (an absolute path), Vitest from 3 on (as written).
  /Cannot find (?:module|package) '(?<specifier>.+?)' imported from '?(?<importer>.+?)'?\s*$/gm,
  /Cannot find module '(?<specifier>.+)'\s*\n\s*Require stack:\s*\n\s*- (?<importer>.+?)\s*$/gm,
  /Cannot find module '(?<specifier>.+?)' from '(?<importer>.+)'/g,
  /Failed to resolve import "(?<specifier>[^"]+)" from "(?<importer>[^"]+)"/g,
  /Failed to load url (?<specifier>.+?) \(resolved id: .+?\)(?: in (?<importer>.+?))?\. Does the file exist\?/g,
];

/** How Node says that a module is there, but a name in it is not. */
const NO_EXPORT: readonly RegExp[] = [
  /The requested module '(?<specifier>[^']+)' does not provide an export named /g,
  /Named export '[^']+' not found\. The requested module '(?<specifier>[^']+)' is a CommonJS module/g,
];

export function isJavaScriptNotThere(failure: LoadFailure, changes: Changes, worktree: string): boolean {
  const { message, file } = failure;
  const missing = importsIn(message, MISSING, file);
  // The file whose import failed stands above the error.
  const blamed = /^(file:\/\/\S+?|\/.+?):\d+$/m.exec(message)?.[1] ?? file;
  const withoutExport = importsIn(message, NO_EXPORT, blamed);
  if (missing.length + withoutExport.length === 0) return false;
  const existing = [...changes.added, ...changes.modified];
  return (
    missing.every((found) => importedPath(found, changes.added, worktree) !== null) &&
    withoutExport.every((found) => importedPath(found, existing, worktree) !== null)
  );
}

function importsIn(message: string, patterns: readonly RegExp[], file: string | null): Import[] {
  return patterns.flatMap((pattern) =>
    [...message.matchAll(pattern)].map(({ groups = {} }) => {
      const specifier = groups.specifier ?? '';
      const importer = groups.importer ?? file;
      const isNode = specifier.startsWith('/') && message.includes('ERR_MODULE_NOT_FOUND');
      return { specifier, importer, isLiteral: isNode && !/\.[cm]?tsx?$/.test(importer ?? '') };
    }),
  );
}
