import type { Plan, PlannedItem } from '../core/plan.ts';
import { describeGroup } from '../core/planned-group.ts';
import { wordingOf } from '../core/wording.ts';
import { paint, printable, type Terminal } from './terminal.ts';

/** The plan for people: what would happen, to what, by whom, for how much at most. */
export function printPlan(terminal: Terminal, plan: Plan): void {
  const { items } = plan;
  const models = Object.entries(plan.models).map(([role, spec]) => `${role} ${spec}`);
  terminal.line(`${plan.workflow}: ${items.length} item(s), ${plan.parallel} at a time; ${models.join(', ')}`);
  const rows = items.map((item) => ({
    item,
    // Of a pipeline, where each one begins.
    state: plan.workflow === item.workflow ? stateOf(item) : `${item.workflow}: ${stateOf(item)}`,
  }));
  const idWidth = rows.reduce((width, { item }) => Math.max(width, item.id.length), 0);
  const stateWidth = rows.reduce((width, { state }) => Math.max(width, state.length), 0);
  for (const { item, state } of rows) {
    const what = item.error ? wordingOf(item.error.problem).message : printable(item.title);
    terminal.line(`  ${item.id.padEnd(idWidth)}  ${paint(terminal, 'dim', state.padEnd(stateWidth))}  ${what}`);
  }
  for (const group of plan.groups) terminal.line(printable(describeGroup(group)));
  for (const note of plan.notes) terminal.line(printable(note));
  const ceiling = plan.costCeilingUsd;
  terminal.line(
    ceiling === null
      ? 'Cost ceiling: unknown, a price is missing (prices in agentos.yaml).'
      : `Cost ceiling: $${ceiling.toFixed(2)}`,
  );
  terminal.line('Nothing was started, written or asked.');
}

function stateOf({ state, fromStep, reusedSteps }: PlannedItem): string {
  return state === 'resumed' ? `resumed from ${fromStep} (${reusedSteps} step(s) reused)` : state;
}
