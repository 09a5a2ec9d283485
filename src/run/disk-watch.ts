import { isDiskReason, type Problem } from '../core/errors.ts';
import type { Subscriber } from '../core/events.ts';
import { isFailure } from '../core/exit-code.ts';
import { diskFault } from '../process/disk.ts';

type DiskProblem = Extract<Problem, { code: 'disk-unwritable' }>;

/** Notices that a disk is full or read-only, from whatever failed because of it. Reports it once. */
export interface DiskWatch {
  /** A file of the run could not be written. */
  refused(path: string, reason: string): void;
  /** Looks at the disk when an item fails: git, tests and agents have words of their own for a full one. */
  subscriber: Subscriber;
  /** Also called if the fault is older. */
  onFault(listener: (problem: DiskProblem) => void): void;
}

export function createDiskWatch(folders: readonly string[]): DiskWatch {
  let found: DiskProblem | null = null;
  let listener: (problem: DiskProblem) => void = () => undefined;
  const report = (directory: string, reason: string): void => {
    if (found !== null) return;
    found = { code: 'disk-unwritable', directory, reason };
    listener(found);
  };
  const refused = (path: string, reason: string): void => {
    if (isDiskReason(reason)) report(folders.find((folder) => path.startsWith(folder)) ?? path, reason);
  };
  return {
    refused,
    subscriber(event) {
      if (event.type !== 'item-finished' || event.error === null || !isFailure(event.status)) return;
      for (const folder of folders) {
        const fault = diskFault(folder);
        if (fault !== null) report(folder, fault);
      }
      const { problem } = event.error;
      if (problem.code === 'journal-full') refused(problem.file, 'ENOSPC');
      if (problem.code === 'output-unwritable') refused(problem.path, problem.reason);
    },
    onFault(given) {
      listener = given;
      if (found !== null) given(found);
    },
  };
}
