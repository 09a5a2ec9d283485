import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

/** A folder for one test: removed when it passes, kept and printed when it fails. */
export async function testFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'agentos test-ü '));
  onTestFinished(async ({ task }) => {
    if (task.result?.state === 'fail') process.stderr.write(`kept: ${folder}\n`);
    else await rm(folder, { recursive: true, force: true });
  });
  return folder;
}
