import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TypeScriptError, typescriptErrors } from '../reports/typescript.ts';
import type { Changes } from './changes.ts';
import { importedPath, relativePath } from './module-path.ts';

const NO_MODULE = new Set([2307, 2792]);
const NO_EXPORT = new Set([2305, 2459, 2614, 2724]);
const NO_PROPERTY = new Set([2339, 2551]);
/** Without the types of what is missing, parameters have none either. */
const CONSEQUENCES = new Set([7006, 7031]);

export function isTypeScriptNotThere(message: string, changes: Changes, worktree: string): boolean {
  const errors = typescriptErrors(message);
  const causes = errors.filter(({ code }) => !CONSEQUENCES.has(code));
  return causes.length > 0 && causes.every((error) => isNotThere(error, changes, worktree));
}

function isNotThere(error: TypeScriptError, changes: Changes, worktree: string): boolean {
  const existing = [...changes.added, ...changes.modified];
  const imported = (specifier: string | undefined, paths: readonly string[]): boolean =>
    specifier !== undefined &&
    importedPath({ specifier, importer: error.file, isLiteral: false }, paths, worktree) !== null;
  if (NO_MODULE.has(error.code)) return imported(/Cannot find module '([^']+)'/.exec(error.text)?.[1], changes.added);
  if (NO_EXPORT.has(error.code)) return imported(/'"([^"']+)"'/.exec(error.text)?.[1], existing);
  // Which module the type comes from isn't said: it has to be one that the file imports.
  if (NO_PROPERTY.has(error.code)) return specifiersIn(error.file, worktree).some((found) => imported(found, existing));
  return false;
}

function specifiersIn(file: string, worktree: string): string[] {
  const path = join(worktree, relativePath(file, worktree) ?? '');
  if (!existsSync(path)) return [];
  const found = readFileSync(path, 'utf8').matchAll(/(?:\bfrom|\bimport|\brequire\(|\bimport\()\s*['"]([^'"]+)['"]/g);
  return [...found].map(([, specifier = '']) => specifier);
}
