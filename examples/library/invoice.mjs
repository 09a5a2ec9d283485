// A workflow for one item. It runs in its own process, started by run.mjs.
import { setTimeout as wait } from 'node:timers/promises';

/** @type {import('agentos').BatchTask<{ customer: string, hours: number, rate: number }, { total: number, receipt: string }>} */
export async function makeInvoice({ id, input, step, log, signal }) {
  // A finished step never runs again, whatever happens to this process or to the batch.
  const total = await step('add-up', { hours: input.hours, rate: input.rate }, () => input.hours * input.rate);
  log(`${input.customer} owes ${total}`);

  // The inputs hold everything that the result depends on, so a changed total is sent again.
  const receipt = await step('send', { customer: input.customer, total }, async () => {
    await wait(200, undefined, { signal }); // stands for a call to a slow service
    return `receipt-${id}`;
  });
  return { total, receipt };
}
