import { chmod, stat } from 'node:fs/promises';
import { AgentosError, systemCode } from '../core/errors.ts';
import { writeFileAtomic } from '../process/atomic-file.ts';
import type { Place } from './worktree-path.ts';

const LARGEST_BYTES = 4 * 1024 * 1024;

/** Nothing that another path could mend: the disk is full, or gone. */
const HOPELESS = new Set(['ENOSPC', 'EDQUOT', 'EROFS', 'EIO', 'EMFILE', 'ENFILE']);

/**
 * Puts a text into its place as a whole, with the permissions that the file had; a hard link elsewhere keeps the old
 * text. Null, or why this path won't do; what no path could mend is thrown.
 */
export async function saveText(place: Place, text: string): Promise<string | null> {
  const bytes = Buffer.byteLength(text);
  if (bytes > LARGEST_BYTES) return `${bytes} bytes are too much for one file`;
  try {
    const mode = place.kind === 'file' ? (await stat(place.absolute)).mode & 0o777 : null;
    await writeFileAtomic(place.absolute, text);
    if (mode !== null) await chmod(place.absolute, mode);
    return null;
  } catch (error) {
    return reasonOf(error, place);
  }
}

/** Why a change of a file failed, for the model. */
export function reasonOf(error: unknown, { path, absolute }: Place): string {
  const unwritable = error instanceof AgentosError && error.problem.code === 'output-unwritable';
  const code = systemCode(unwritable ? error.cause : error);
  if (code === null) throw error;
  if (HOPELESS.has(code)) {
    throw new AgentosError({ code: 'output-unwritable', path: absolute, reason: code }, { cause: error });
  }
  return `${path} can't be written: ${code}`;
}
