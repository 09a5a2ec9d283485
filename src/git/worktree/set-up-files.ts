import { lstatSync, type Stats } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate as breathe } from 'node:timers/promises';
import { z } from 'zod';
import { namesInSync, removeFolder, writeFileAtomic } from '../../process/files.ts';

/*
 * The files that the set-up made (packages, virtual environments, build results) are not part of a tree, but tests run with them. An
 * agent could put into them what the code lacks. So their names, sizes and dates are recorded after the set-up and compared before
 * tests run. The time of the last change of any kind (ctime) can't be set back.
 */

/** A folder that the set-up made something in. */
export interface SetUpRoot {
  folder: string;
  /** What the set-up made in it, relative to the folder; a folder ends with a slash. Null: all there is. */
  made: readonly string[] | null;
  /** Top-level names that are ours. */
  except?: ReadonlySet<string>;
}

interface SetUpChanges {
  /** Absolute paths. A new folder is one entry. */
  added: string[];
  /** Changed, or gone. */
  changed: string[];
}

const recordSchema = z.object({
  /** The signature of each file, by path. */
  files: z.record(z.string(), z.string()),
  /** Files that the tests themselves change: they did so before anything was written. */
  unsteady: z.array(z.string()),
});

type Known = z.infer<typeof recordSchema>;

const IN_A_ROW = 2_000;

/** `file`: the path of the record. */
export function createSetUpFiles(file: string) {
  let known: Known | null = null;
  const read = async (): Promise<Known | null> => {
    known ??= await readFile(file, 'utf8').then(
      (text) => recordSchema.safeParse(JSON.parse(text)).data ?? null,
      () => null,
    );
    return known;
  };
  const write = async (next: Known): Promise<void> => {
    known = next;
    await writeFileAtomic(file, JSON.stringify(next));
  };
  return {
    /** Records the current files as made by the set-up. */
    async record(roots: readonly SetUpRoot[]): Promise<void> {
      const { unsteady } = (await read()) ?? { unsteady: [] };
      await write({ files: Object.fromEntries(await walk(roots)), unsteady });
    },
    /** Records the current differences as caused by the tests themselves. */
    async recordUnsteady(roots: readonly SetUpRoot[]): Promise<void> {
      const before = await read();
      if (before === null) return;
      const { changed } = changesFrom(before, await walk(roots));
      if (changed.length > 0) await write({ ...before, unsteady: [...new Set([...before.unsteady, ...changed])] });
    },
    /** Null: nothing was recorded. */
    async changes(roots: readonly SetUpRoot[]): Promise<SetUpChanges | null> {
      const before = await read();
      return before === null ? null : changesFrom(before, await walk(roots));
    },
  };
}

/** The signature of each path; folders have none of their own. */
type Walked = Map<string, string>;

const FOLDER = 'folder';

function changesFrom({ files, unsteady }: Known, now: Walked): SetUpChanges {
  const isUnsteady = new Set(unsteady);
  const changed = Object.keys(files).filter((path) => now.get(path) !== files[path] && !isUnsteady.has(path));
  const added: string[] = [];
  for (const path of [...now.keys()].filter((one) => files[one] === undefined).sort()) {
    const last = added.at(-1);
    if (last === undefined || !path.startsWith(`${last}/`)) added.push(path);
  }
  return { added, changed };
}

/** A file that is linked to a cache changes whenever another item links it too. */
function signatureOf({ mode, size, mtimeMs, ctimeMs, ino, nlink }: Stats): string {
  return `${mode} ${size} ${mtimeMs} ${ino} ${nlink > 1 ? 'linked' : ctimeMs}`;
}

/** Links are not followed. */
async function walk(roots: readonly SetUpRoot[]): Promise<Walked> {
  const walked: Walked = new Map();
  let count = 0;
  for (const { folder, made, except } of roots) {
    const left = made === null ? namesInSync(folder).filter((name) => !except?.has(name)) : [...made];
    const paths = left.map((name) => join(folder, name.replace(/\/$/, '')));
    for (const path of paths) {
      count += 1;
      if (count % IN_A_ROW === 0) await breathe();
      const found = lstatSync(path, { throwIfNoEntry: false });
      if (found === undefined) continue;
      if (found.isDirectory()) {
        walked.set(path, FOLDER);
        for (const name of namesInSync(path)) paths.push(`${path}/${name}`);
      } else {
        walked.set(path, signatureOf(found));
      }
    }
  }
  return walked;
}

/** Removes what was added, or all that the set-up made. */
export async function removeAll(paths: readonly string[], roots: readonly SetUpRoot[]): Promise<void> {
  for (const path of paths) {
    const root = roots.find(({ folder }) => path.startsWith(`${folder}/`));
    if (root !== undefined) await removeFolder(path, root.folder);
  }
}
