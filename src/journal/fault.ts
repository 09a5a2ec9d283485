import { dirname } from 'node:path';
import { AgentosError, systemCode } from '../core/errors.ts';
import { diskFault } from '../process/files.ts';
import { keepAside } from './database-files.ts';

/**
 * What is wrong with a journal's file. `inspect` only reports it; an owner moves a damaged file aside and leaves every other
 * one unchanged.
 */
type FaultKind = 'damaged' | 'fenced' | 'full' | 'busy' | 'unusable';

export class JournalFault extends Error {
  override readonly name = 'JournalFault';
  readonly kind: FaultKind;
  readonly reason: string;

  constructor(kind: FaultKind, reason: string, cause?: unknown) {
    super(`${kind}: ${reason}`, cause === undefined ? undefined : { cause });
    this.kind = kind;
    this.reason = reason;
  }
}

// SQLite's primary result codes, the low byte of `errcode`.
const sqliteKinds: Record<number, FaultKind> = {
  5: 'busy',
  6: 'busy',
  11: 'damaged',
  13: 'full',
  26: 'damaged',
};
const sqliteIoError = 10;
const sqliteIoErrorShortRead = 522;
const sqliteIoErrorCorruptFileSystem = 8458;
const sqliteCantOpen = 14;

export function faultOf(error: unknown, file: string): JournalFault {
  if (error instanceof JournalFault) return error;
  const reason = error instanceof Error ? error.message : String(error);
  return new JournalFault(kindOf(error, file), reason, error);
}

function kindOf(error: unknown, file: string): FaultKind {
  const code = systemCode(error);
  if (code === 'ENOSPC' || code === 'EDQUOT') return 'full';
  // An integer that we never store.
  if (code === 'ERR_OUT_OF_RANGE') return 'damaged';
  if (code !== 'ERR_SQLITE_ERROR') return 'unusable';
  const extended = sqliteCode(error);
  if (extended === sqliteIoErrorShortRead || extended === sqliteIoErrorCorruptFileSystem) return 'damaged';
  const primary = extended & 0xff;
  // SQLite reports a file that can't grow for lack of space like any other I/O error.
  if ((primary === sqliteIoError || primary === sqliteCantOpen) && diskFault(dirname(file)) === 'ENOSPC') return 'full';
  return sqliteKinds[primary] ?? 'unusable';
}

export function sqliteCode(error: unknown): number {
  if (typeof error !== 'object' || error === null || !('errcode' in error)) return 0;
  return typeof error.errcode === 'number' ? error.errcode : 0;
}

/** For an owner: moves a damaged file aside, so that the next open starts over and nothing is lost. */
export function journalError(error: unknown, file: string, nowMs: number): AgentosError {
  if (error instanceof AgentosError) return error;
  const fault = faultOf(error, file);
  const { reason } = fault;
  const options = { cause: fault.cause ?? fault };
  switch (fault.kind) {
    case 'damaged':
      try {
        const keptAs = keepAside(file, nowMs);
        return new AgentosError({ code: 'journal-damaged', file, keptAs, reason }, options);
      } catch (moving) {
        const why = moving instanceof Error ? moving.message : String(moving);
        const both = `damaged (${reason}) and could not be moved aside: ${why}`;
        return new AgentosError({ code: 'journal-unusable', file, reason: both }, options);
      }
    case 'fenced':
      return new AgentosError({ code: 'journal-fenced', file }, options);
    case 'full':
      return new AgentosError({ code: 'journal-full', file, reason }, options);
    case 'busy':
      return new AgentosError({ code: 'journal-unusable', file, reason }, { ...options, retry: 'transient' });
    case 'unusable':
      return new AgentosError({ code: 'journal-unusable', file, reason }, options);
  }
}
