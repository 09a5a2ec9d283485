import { rm } from 'node:fs/promises';

/** What SQLite keeps beside a database. */
const COMPANIONS = ['', '-wal', '-shm', '-journal'];

export async function removeCheckpoint(path: string): Promise<void> {
  for (const suffix of COMPANIONS) await rm(`${path}${suffix}`, { force: true });
}
