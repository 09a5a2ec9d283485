import { posix } from 'node:path';
import type { Changes } from './changes.ts';

/** Names that can't be resolved: imports, modules, functions, methods, types, traits, structs, fields. */
const NOT_FOUND = new Set(['E0432', 'E0433', 'E0425', 'E0583', 'E0599', 'E0412', 'E0405', 'E0422', 'E0560', 'E0609']);

export function looksLikeRust(message: string): boolean {
  return /^error(\[E\d+\])?: .*\n(?:.*\n)?\s*--> .+\.rs:\d+/m.test(message);
}

export function isRustNotThere(message: string, changes: Changes): boolean {
  const isProduct = (path: string): boolean => path.endsWith('.rs') && !/(?:^|\/)tests\//.test(path);
  if (![...changes.added, ...changes.modified].some(isProduct)) return false;
  const errors = message
    .split(/^(?=error(?:\[E\d+\])?: )/m)
    .filter((text) => text.startsWith('error') && !/^error: (?:could not compile|aborting due to)/.test(text));
  return errors.length > 0 && errors.every((error) => isNotFound(error, changes.added));
}

function isNotFound(error: string, added: readonly string[]): boolean {
  const code = /^error\[(E\d+)\]/.exec(error)?.[1];
  if (code === undefined || !NOT_FOUND.has(code)) return false;
  // A module or a crate: a crate that is not among the dependencies has to be told from a module that will be added.
  const root =
    /file not found for module `(\w+)`/.exec(error)?.[1] ??
    /(?:undeclared crate or module|unresolved module or unlinked crate|undeclared module|maybe a missing crate) `(\w+)`/.exec(
      error,
    )?.[1];
  return root === undefined || added.some((path) => isModule(path, root));
}

function isModule(path: string, name: string): boolean {
  const file = posix.basename(path);
  return file === `${name}.rs` || (file === 'mod.rs' && posix.basename(posix.dirname(path)) === name);
}
