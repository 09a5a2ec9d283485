import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

export interface VendorProcess {
  url: string;
  pid: number;
  /** Resolves when it is gone, with its exit code; the log file is complete then. */
  stop(): Promise<number | null>;
}

/** Starts the vendor as a process of its own, with the flags of `main.ts`. It also ends when this process does. */
export async function startVendorProcess(flags: string[]): Promise<VendorProcess> {
  const main = fileURLToPath(new URL('./main.ts', import.meta.url));
  const child = spawn(process.execPath, [main, ...flags], { stdio: ['pipe', 'pipe', 'pipe'] });
  const exited = once(child, 'exit');
  let complaint = '';
  child.stderr.on('data', (data: Buffer) => {
    complaint += data.toString();
  });
  const line = await Promise.race([
    once(createInterface({ input: child.stdout }), 'line'),
    exited.then(() => {
      throw new Error(`the vendor did not start:\n${complaint}`);
    }),
  ]);
  const ready: { url: string; pid: number } = JSON.parse(String(line[0]));
  return {
    ...ready,
    async stop() {
      child.kill('SIGTERM');
      await exited;
      return child.exitCode;
    },
  };
}
