import type { Plan } from '../core/plan.ts';
import { paint, printable, type Terminal } from './terminal.ts';

/** The plan for people: what would happen, to what, by whom, for how much at most. */
export function printPlan(terminal: Terminal, plan: Plan): void {
  const { items } = plan;
  const models = Object.entries(plan.models).map(([role, spec]) => `${role} ${spec}`);
  terminal.line(`${plan.workflow}: ${items.length} item(s), ${plan.parallel} at a time; ${models.join(', ')}`);
  const width = Math.max(...items.map((item) => item.id.length), 0);
  for (const { id, title, state, fromStep, reusedSteps } of items) {
    const from = state === 'resumed' ? ` from ${fromStep} (${reusedSteps} step(s) reused)` : '';
    terminal.line(`  ${id.padEnd(width)}  ${paint(terminal, 'dim', `${state}${from}`)}  ${printable(title)}`);
  }
  const ceiling = plan.costCeilingUsd;
  terminal.line(
    ceiling === null
      ? 'Cost ceiling: unknown, a price is missing (prices in agentos.yaml).'
      : `Cost ceiling: $${ceiling.toFixed(2)}`,
  );
  terminal.line('Nothing was started, written or asked.');
}
