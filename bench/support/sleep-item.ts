/** The work of one item as a program of its own, for peers that start one per item. */
import { setTimeout as sleep } from 'node:timers/promises';

const [id, steps, ms] = process.argv.slice(2);
for (let step = 1; step <= Number(steps); step++) await sleep(Number(ms));
process.stdout.write(`${id} done\n`);
