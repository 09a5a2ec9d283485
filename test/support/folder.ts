import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFailed, onTestFinished } from 'vitest';

/** A folder for one test: removed when it passes, kept and printed when it fails. */
export async function testFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'agentos test-ü '));
  let failed = false;
  onTestFailed(() => {
    failed = true;
    process.stderr.write(`kept: ${folder}\n`);
  });
  onTestFinished(async () => {
    if (!failed) await rm(folder, { recursive: true, force: true });
  });
  return folder;
}
