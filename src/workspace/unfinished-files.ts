import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { systemCode } from '../core/errors.ts';

/** How `writeFileAtomic` names what it writes before it is renamed: by its process. */
const UNFINISHED = /^\.(\d+)-\d+\.tmp$/;

/** Removes what writers that were killed left behind. Only for a folder that has one writer at a time. */
export async function removeUnfinishedFiles(directory: string): Promise<void> {
  for (const name of await readdir(directory).catch(() => [])) {
    const writer = UNFINISHED.exec(name)?.[1];
    if (writer === undefined || isRunning(Number(writer))) continue;
    await rm(join(directory, name), { force: true }).catch(() => undefined);
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return systemCode(error) === 'EPERM';
  }
}
