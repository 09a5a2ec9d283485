import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import type { BatchReport, BatchRequest } from './sleep-batch.ts';

const LIMIT_MS = 60_000;

export type SleepRun = Omit<BatchRequest, 'library' | 'task' | 'folder'> & {
  ownTask?: boolean;
  /** On top of our own. */
  env?: Record<string, string>;
};

export interface SleepProgram {
  /** The work of one item as a program. */
  item: string;
  run(request: SleepRun): Promise<BatchReport & { wallMs: number }>;
}

/** As programs are shipped: JavaScript. Nobody's time to strip types counts. */
export async function createSleepProgram(folder: string): Promise<SleepProgram> {
  const sources = [
    import.meta.resolve('./sleep-batch.ts'),
    import.meta.resolve('./sleep-task.ts'),
    import.meta.resolve('./sleep-item.ts'),
  ];
  await build({
    entryPoints: sources.map((url) => fileURLToPath(url)),
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node24',
    outdir: folder,
    outExtension: { '.js': '.mjs' },
  });
  const library = new URL('../../dist/index.js', import.meta.url).href;
  const sleepTask = pathToFileURL(join(folder, 'sleep-task.mjs')).href;
  return {
    item: join(folder, 'sleep-item.mjs'),
    async run({ ownTask = false, env = {}, ...rest }) {
      const request: BatchRequest = { ...rest, library, task: ownTask ? null : sleepTask, folder };
      const began = performance.now();
      const args = [join(folder, 'sleep-batch.mjs'), JSON.stringify(request)];
      const { stdout } = await promisify(execFile)(process.execPath, args, {
        cwd: folder,
        timeout: LIMIT_MS,
        env: { ...process.env, ...env },
      });
      return { wallMs: performance.now() - began, ...(JSON.parse(stdout) as BatchReport) };
    },
  };
}
