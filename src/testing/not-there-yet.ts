import { isGoNotThere, looksLikeGo } from './not-there-yet/go.ts';
import { isJavaScriptNotThere } from './not-there-yet/javascript.ts';
import { isPythonNotThere } from './not-there-yet/python.ts';
import { isRustNotThere, looksLikeRust } from './not-there-yet/rust.ts';
import { isTypeScriptNotThere } from './not-there-yet/typescript.ts';
import type { LoadFailure } from './port.ts';
import { typescriptErrors } from './reports/typescript.ts';

/**
 * Whether tests could not be loaded only because something that the LLD adds (or, for a name in a module, modifies) is not
 * there yet. Whatever is not understood is a failure of its own: a syntax error, a package that is not installed, a
 * misspelt path, several reasons of which one is another.
 */
export function isNotThereYet(
  failure: LoadFailure,
  changes: { added: readonly string[]; modified: readonly string[] },
  worktree: string,
): boolean {
  const { file, message } = failure;
  if (looksLikeRust(message)) return isRustNotThere(message, changes);
  if (looksLikeGo(message)) return isGoNotThere(message, changes, worktree);
  if (file?.endsWith('.py') || /^(E\s+)?(ModuleNotFoundError|ImportError): /m.test(message))
    return isPythonNotThere(failure, changes, worktree);
  if (typescriptErrors(message).length > 0) return isTypeScriptNotThere(message, changes, worktree);
  return isJavaScriptNotThere(failure, changes, worktree);
}
