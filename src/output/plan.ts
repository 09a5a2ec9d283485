import { describeGroup, type Plan, type PlannedItem, replacementLines } from '../core/plan.ts';
import { wordingOf } from '../core/wording.ts';
import { aligned, paint, printable, type Terminal } from './terminal.ts';

/** Prints the plan: the items with their states, models and cost. */
export function printPlan(terminal: Terminal, plan: Plan): void {
  const { items } = plan;
  const models = Object.entries(plan.models).map(([role, spec]) => `${role} ${spec}`);
  const who = models.length === 0 ? '' : `; ${models.join(', ')}`;
  terminal.line(`${plan.workflow}: ${items.length} item(s), ${plan.parallel} at a time${who}`);
  const rows = items.map((item) => {
    const title = item.solved === null ? item.title : `${item.title} (${item.solved.reason})`;
    const what = item.error ? wordingOf(item.error.problem).message : printable(title);
    // In a pipeline, with the stage where the item starts.
    return [item.id, plan.workflow === item.workflow ? stateOf(item) : `${item.workflow}: ${stateOf(item)}`, what];
  });
  for (const [id, state = '', what] of aligned(rows))
    terminal.line(`  ${id}  ${paint(terminal, 'dim', state)}  ${what}`);
  for (const line of replacementLines(items)) terminal.line(printable(line));
  for (const group of plan.groups) terminal.line(printable(describeGroup(group)));
  for (const note of plan.notes) terminal.line(printable(note));
  if (Object.keys(plan.models).length > 0)
    terminal.line(`Context: at most ${plan.contextTokens} tokens of the repository per item (agentos context <id>).`);
  terminal.line(costLine(plan));
  terminal.line('Nothing was started, written or asked.');
}

function costLine({ unmetered, estimateUsd, pastItems, costCeilingUsd, costCeilingBy }: Plan): string {
  if (costCeilingUsd === 0) return 'It costs nothing.';
  const uncounted = unmetered.length === 0 ? '' : ` Not metered: ${printable(unmetered.join(', '))}.`;
  const missing = 'a price is missing (prices in agentos.yaml)';
  if (estimateUsd === null && costCeilingUsd === null)
    return `The cost is unknown${unmetered.length > 0 ? '.' : `: ${missing}.`}${uncounted}`;
  const by = costCeilingBy === null ? '' : ` (${costCeilingBy})`;
  const most = costCeilingUsd === null ? `at most unknown: ${missing}` : `at most $${costCeilingUsd.toFixed(2)}${by}`;
  if (estimateUsd === null) return `The probable cost is unknown, ${most}.${uncounted}`;
  const about = estimateUsd < 0.005 ? 'under $0.01' : `about $${estimateUsd.toFixed(2)}`;
  const past = `from ${pastItems} past item${pastItems === 1 ? '' : 's'}`;
  const from = pastItems === 0 ? 'by the size of issue and context' : past;
  return `Probably ${about} (${from}), ${most}.${uncounted}`;
}

function stateOf({ state, fromStep, reusedSteps }: PlannedItem): string {
  return state === 'resumed' ? `resumed from ${fromStep} (${reusedSteps} step(s) reused)` : state;
}
