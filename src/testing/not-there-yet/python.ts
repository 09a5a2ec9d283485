import { existsSync } from 'node:fs';
import { join, posix } from 'node:path';
import type { LoadFailure } from '../port.ts';
import type { Changes } from './changes.ts';

/** The errors that a traceback ends with. A heading such as `ImportError while importing` has no colon. */
const ERROR = /^(?:E\s+)?((?:\w+\.)*\w*(?:Error|Exception|Interrupt|Exit|Failed)): (.*)$/gm;

export function isPythonNotThere(failure: LoadFailure, changes: Changes, worktree: string): boolean {
  const errors = [...failure.message.matchAll(ERROR)];
  return (
    errors.length > 0 &&
    errors.every(([, kind = '', text = '']) => {
      const module = kind === 'ModuleNotFoundError' ? /^No module named '([^']+)'$/.exec(text.trim())?.[1] : undefined;
      if (module !== undefined) return isModuleAdded(module);
      const name = /^cannot import name '([^']+)' from '([^']+)'/.exec(text);
      if (kind !== 'ImportError' || name === null) return false;
      return isModuleAdded(`${name[2]}.${name[1]}`) || isChanged(name[2] ?? '');
    })
  );

  function isModuleAdded(module: string): boolean {
    const places = placesOf(module);
    if (places.some((place) => isPython(place, changes.added))) return true;
    // A package without a file of its own is there as soon as a module is in it.
    return places.some(
      (place) => changes.added.some((path) => path.startsWith(`${place}/`)) && !existsSync(join(worktree, place)),
    );
  }

  function isChanged(module: string): boolean {
    return placesOf(module).some((place) => isPython(place, [...changes.added, ...changes.modified]));
  }

  /** From the root, from `src/`, or beside the test. */
  function placesOf(module: string): string[] {
    const path = module.replaceAll('.', '/');
    const beside = failure.file === null ? [] : [posix.join(posix.dirname(failure.file), path)];
    return [path, `src/${path}`, ...beside];
  }
}

function isPython(place: string, paths: readonly string[]): boolean {
  return paths.includes(`${place}.py`) || paths.includes(`${place}/__init__.py`) || paths.includes(`${place}.pyi`);
}
