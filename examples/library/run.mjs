// Runs the workflow of invoice.mjs for a few items, three at a time:  node run.mjs
import { runBatch } from 'agentos';

const { items } = await runBatch({
  items: [
    { id: '2026-01', input: { customer: 'Ada', hours: 12, rate: 90 } },
    { id: '2026-02', input: { customer: 'Grace', hours: 7, rate: 110 } },
    { id: '2026-03', input: { customer: 'Barbara', hours: 20, rate: 85 } },
    { id: '2026-04', input: { customer: 'Radia', hours: 3, rate: 120 } },
  ],
  task: { module: new URL('./invoice.mjs', import.meta.url), export: 'makeInvoice' },
  parallel: 3,
  baseDir: '.invoices',
  maxRetries: 2,
  timeoutMs: 60_000,
  output: process.stdout,
});

for (const { id, status, result, error } of items) {
  process.stdout.write(`${id}  ${status}  ${error ? error.message : JSON.stringify(result)}\n`);
}
process.exitCode = items.every(({ error }) => error === null) ? 0 : 1;
