import { closeSync, fstatSync, openSync, readSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { WORKFLOWS } from '../core/paths.ts';
import { eventSizes, type OutsideView } from '../git/checkout-watch.ts';
import { namesInSync } from '../process/files.ts';

/** More than a run adds between two looks. */
const MOST_BYTES = 64 * 1024 * 1024;
const EVENT = /^\{"at":"[^"]+","item":"([^"]+)","workflow":"([a-z]+)"/;

/**
 * The keys of items that runs of ours worked on since a look, or on which a person decided: each run, in whatever process, adds
 * events of its items to a file, and each decision is a file in the lineage.
 */
export function itemsWorkedOn(look: Pick<OutsideView, 'base' | 'repository' | 'atMs' | 'events'>): Set<string> {
  const { base, repository, atMs } = look;
  const found = new Set<string>();
  for (const [file, size] of eventSizes(base)) {
    const before = look.events.get(file) ?? 0;
    for (const line of size > before ? linesFrom(file, before) : []) {
      const [, item, workflow] = EVENT.exec(line) ?? [];
      if (item !== undefined) found.add(`${workflow}-${item}`);
    }
  }
  for (const id of namesInSync(join(repository, 'docs', 'lineage'))) {
    const folder = join(repository, 'docs', 'lineage', id);
    if (changedMs(folder) < atMs) continue;
    const isNew = (name: string): boolean => name.endsWith('-verdict.md') && changedMs(join(folder, name)) >= atMs;
    if (namesInSync(folder).some(isNew))
      for (const workflow of WORKFLOWS) found.add(`${workflow}-${id.replace(/\.brief$/, '')}`);
  }
  return found;
}

/** Negative where it is not there. The time of the last change of any kind, which can't be set back. */
function changedMs(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.ctimeMs ?? -1;
}

function linesFrom(file: string, start: number): string[] {
  const handle = openSync(file, 'r');
  try {
    const bytes = Buffer.alloc(Math.min(Math.max(0, fstatSync(handle).size - start), MOST_BYTES));
    return bytes.toString('utf8', 0, readSync(handle, bytes, 0, bytes.length, start)).split('\n');
  } finally {
    closeSync(handle);
  }
}
