import { type ErrorRecord, isDiskReason, type Problem } from '../core/errors.ts';
import { diskFault } from '../process/disk.ts';

type DiskProblem = Extract<Problem, { code: 'disk-unwritable' }>;

/** Notices that a disk is full or read-only, from whatever failed because of it. Says so once. */
export interface DiskWatch {
  /** A file of the run could not be written. */
  refused(path: string, reason: string): void;
  /** An item failed; git, tests and agents have words of their own for a full disk. */
  failed(error: ErrorRecord): void;
}

export function createDiskWatch(folders: readonly string[], onFault: (problem: DiskProblem) => void): DiskWatch {
  let isKnown = false;
  const tell = (directory: string, reason: string): void => {
    if (isKnown) return;
    isKnown = true;
    onFault({ code: 'disk-unwritable', directory, reason });
  };
  return {
    refused(path, reason) {
      if (isDiskReason(reason)) tell(folders.find((folder) => path.startsWith(folder)) ?? path, reason);
    },
    failed({ problem }) {
      for (const folder of folders) {
        const fault = diskFault(folder);
        if (fault !== null) tell(folder, fault);
      }
      if (problem.code === 'journal-full') this.refused(problem.file, 'ENOSPC');
      if (problem.code === 'output-unwritable') this.refused(problem.path, problem.reason);
    },
  };
}
