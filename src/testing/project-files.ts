import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** As much of a project as it takes to tell how its tests are run: a folder, or a commit that is not checked out. */
export interface ProjectFiles {
  /** Of what is in a folder, `''` being the top; none where it is not there. */
  names(folder: string): Promise<readonly string[]>;
  /** Empty where it is not there. */
  read(path: string): Promise<string>;
}

export function folderFiles(directory: string): ProjectFiles {
  return {
    names: (folder) => readdir(join(directory, folder)).catch(() => []),
    read: (path) => readFile(join(directory, path), 'utf8').catch(() => ''),
  };
}
