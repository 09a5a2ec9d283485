// A program with a live region that does what it is told over the socket in its first argument, one JSON line each.
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import type { AgentosEvent } from '../../src/core/events.ts';
import { createLiveRegion } from '../../src/output/live-region.ts';

export type Order = { event: AgentosEvent } | { lines: string[] } | { end: 'close' | 'exit' | 'throw' };

const mask = (text: string): string => text;
const region = createLiveRegion({
  stream: process.stdout,
  env: process.env,
  now: () => Date.now(),
  mask,
});

process.on('SIGTERM', () => process.exit(143));

const socket = connect(process.argv[2] ?? '');
createInterface({ input: socket }).on('line', (text) => {
  const order = JSON.parse(text) as Order;
  if ('event' in order) region.subscriber(order.event);
  else if ('lines' in order) for (const line of order.lines) region.line(line);
  else if (order.end === 'throw') throw new Error('thrown on purpose');
  else if (order.end === 'exit') process.exit(3);
  else {
    region.close();
    region.line('after the end');
    socket.end();
  }
});
