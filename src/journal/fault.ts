import { dirname } from 'node:path';
import { AgentosError, systemCode } from '../core/errors.ts';
import { diskFault } from '../process/disk.ts';
import { keepAside } from './database-files.ts';

/**
 * What is wrong with a journal's file, before anybody decided what to do about it: `inspect` reports it, an owner moves a
 * damaged file aside and leaves every other where it is.
 */
type FaultKind = 'damaged' | 'foreign' | 'newer' | 'fenced' | 'full' | 'busy' | 'unusable';

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

/** A journal of a later schema: nothing here may touch it. */
export class NewerSchema extends JournalFault {
  readonly found: number;
  readonly supported: number;

  constructor(found: number, supported: number) {
    super('newer', `schema version ${found}; this program knows ${supported}`);
    this.found = found;
    this.supported = supported;
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
  // An integer that no journal of ours ever stored.
  if (code === 'ERR_OUT_OF_RANGE') return 'damaged';
  if (code !== 'ERR_SQLITE_ERROR') return 'unusable';
  const extended = sqliteCode(error);
  if (extended === sqliteIoErrorShortRead || extended === sqliteIoErrorCorruptFileSystem) return 'damaged';
  const primary = extended & 0xff;
  // A file that can't be made or grown for want of space is reported by SQLite as any other I/O error.
  if ((primary === sqliteIoError || primary === sqliteCantOpen) && diskFault(dirname(file)) === 'ENOSPC') return 'full';
  return sqliteKinds[primary] ?? 'unusable';
}

export function sqliteCode(error: unknown): number {
  if (typeof error !== 'object' || error === null || !('errcode' in error)) return 0;
  return typeof error.errcode === 'number' ? error.errcode : 0;
}

/** For an owner: a damaged file is moved aside here, so that the next open starts afresh and nothing is lost. */
export function journalError(error: unknown, file: string, nowMs: number): AgentosError {
  const fault = faultOf(error, file);
  const { reason } = fault;
  const options = { cause: fault.cause ?? fault };
  if (fault instanceof NewerSchema) {
    return new AgentosError({ code: 'journal-newer', file, found: fault.found, supported: fault.supported }, options);
  }
  switch (fault.kind) {
    case 'damaged':
      return damaged(fault, file, nowMs);
    case 'fenced':
      return new AgentosError({ code: 'journal-fenced', file }, options);
    case 'full':
      return new AgentosError({ code: 'journal-full', file, reason }, options);
    case 'busy':
      return new AgentosError({ code: 'journal-unusable', file, reason }, { ...options, retry: 'transient' });
    case 'foreign':
    case 'newer':
    case 'unusable':
      return new AgentosError({ code: 'journal-unusable', file, reason }, options);
  }
}

function damaged(fault: JournalFault, file: string, nowMs: number): AgentosError {
  const cause = fault.cause ?? fault;
  try {
    const keptAs = keepAside(file, nowMs);
    return new AgentosError({ code: 'journal-damaged', file, keptAs, reason: fault.reason }, { cause });
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    const reason = `damaged (${fault.reason}) and could not be moved aside: ${why}`;
    return new AgentosError({ code: 'journal-unusable', file, reason }, { cause });
  }
}
