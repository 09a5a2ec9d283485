// The program under measurement: starts the same command so many times and prefixes what the children print.
import { spawn } from 'node:child_process';
import { OutputPrefixer, sinkOf } from '../../src/output/prefixer.ts';

const [count, command = '', ...mask] = process.argv.slice(2);

const prefixer = new OutputPrefixer({ ...sinkOf(process.stdout), colour: false, mask });
await Promise.all(
  Array.from({ length: Number(count) }, (_, n) => {
    const child = spawn('sh', ['-c', command], { stdio: ['ignore', 'pipe', 'pipe'] });
    return prefixer.attach(`LLD-${n}`, child.stdout, child.stderr).done;
  }),
);
process.stderr.write(JSON.stringify({ peakBytes: process.resourceUsage().maxRSS * 1024 }));
