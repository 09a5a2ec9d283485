import { existsSync, globSync } from 'node:fs';
import { rename, writeFile } from 'node:fs/promises';

/** A wall clock that can be set while programs run. The monotonic clock is left alone. */
export interface ChaosClock {
  env: Record<string, string>;
  jump(bySeconds: number): Promise<void>;
}

/** libfaketime, from the package `faketime` of the distribution, or where `AGENTOS_TEST_FAKETIME` says. */
export function fakeTimeLibrary(): string | null {
  const given = process.env['AGENTOS_TEST_FAKETIME'];
  if (given) return existsSync(given) ? given : null;
  return globSync('/usr/lib/{*/,}faketime/libfaketime.so.1')[0] ?? null;
}

/** Null where the library is not installed. */
export async function createChaosClock(file: string): Promise<ChaosClock | null> {
  const library = fakeTimeLibrary();
  if (library === null) return null;
  let offset = 0;
  const set = async (): Promise<void> => {
    await writeFile(`${file}.new`, `${offset < 0 ? '' : '+'}${offset}s\n`);
    await rename(`${file}.new`, file);
  };
  await set();
  return {
    env: {
      LD_PRELOAD: library,
      FAKETIME_TIMESTAMP_FILE: file,
      FAKETIME_NO_CACHE: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
      DONT_FAKE_MONOTONIC: '1',
      // Dates of files are those of the file system, as on a machine whose clock was set.
      NO_FAKE_STAT: '1',
    },
    async jump(bySeconds) {
      offset += bySeconds;
      await set();
    },
  };
}
