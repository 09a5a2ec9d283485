import { localTime } from '../../core/duration.ts';
import { AgentosError } from '../../core/errors.ts';
import { EXIT } from '../../core/exit-code.ts';
import { isItemId } from '../../core/ids.ts';
import { printStanding, printStandings } from '../../output/standing.ts';
import { createTerminal, paint, printable, type Terminal } from '../../output/terminal.ts';
import { detailOf, standings } from '../../run/item-standing.ts';
import { type RunHistory, readRun } from '../../run/run-history.ts';
import { runIds } from '../../run/stored-runs.ts';
import { readItemId } from '../item-id.ts';
import { type PlaceFlags, placeFlagsOf, projectOf } from '../request.ts';

const SHOWN_RUNS = 5;

/** The backlog and the latest runs; of one item all there is to know, of one run its items. */
export async function statusCommand(
  which: string | undefined,
  flags: PlaceFlags & { json?: boolean },
): Promise<number> {
  const project = await projectOf(flags);
  const { paths, mask } = project;
  const known = await runIds(paths);
  const terminal = createTerminal(process.stdout, process.env, mask);
  const printJson = (value: unknown): void => void process.stdout.write(`${mask(JSON.stringify(value, null, 2))}\n`);

  if (which !== undefined && !known.includes(which)) {
    const id = /^#|\.md$/.test(which) ? readItemId(which, flags.repo) : which;
    const item = isItemId(id) ? await detailOf(project, id, placeFlagsOf(flags)) : null;
    if (item === null) throw new AgentosError({ code: 'run-missing', run: which });
    if (flags.json) printJson({ runs: [], items: [item] });
    else printStanding(terminal, item);
    return EXIT.ok;
  }
  // A folder without a record is what a run left that was killed in its first moment.
  const runs: RunHistory[] = [];
  let older: string[] = [];
  for (const [index, id] of (which === undefined ? known : [which]).entries()) {
    const run = await readRun(paths, id);
    if (run !== null) runs.push(run);
    if (runs.length < SHOWN_RUNS) continue;
    older = known.slice(index + 1);
    break;
  }
  if (which !== undefined && runs.length === 0)
    throw new AgentosError({ code: 'run-unreadable', run: which, file: paths.run(which).record });
  const items = which === undefined ? await standings(project) : null;
  if (flags.json) {
    printJson({ runs: runs.map(withoutReasons), ...(items === null ? {} : { items }) });
    return EXIT.ok;
  }
  if (items !== null) {
    printStandings(terminal, items);
    terminal.line('');
  }
  if (runs.length === 0) terminal.line('No runs yet. Start one with: agentos lld --all');
  for (const run of runs) printRun(terminal, run);
  if (older.length > 0) terminal.line(`${older.length} older run(s), the newest of them: agentos status ${older[0]}`);
  return EXIT.ok;
}

/** Of a run what happened is told; what an item waits for is told with the backlog. */
function withoutReasons({ items, ...run }: RunHistory): unknown {
  return {
    ...run,
    items: items.map(({ id, title, workflow, status, step, costUsd }) => ({
      id,
      title,
      workflow,
      status,
      step,
      costUsd,
    })),
  };
}

function printRun(terminal: Terminal, run: RunHistory): void {
  terminal.line(`${paint(terminal, 'bold', run.runId)}  ${run.workflow}  ${run.state}  ${localTime(run.startedAt)}`);
  const width = run.items.reduce((most, item) => Math.max(most, item.id.length), 0);
  for (const { id, status, workflow, step, title, costUsd } of run.items) {
    const cost = costUsd ? `  $${costUsd.toFixed(4)}` : '';
    // Stages of a pipeline have steps of the same name.
    const at = run.workflow === 'run' && workflow !== null ? `${workflow} ${step ?? '-'}` : (step ?? '-');
    terminal.line(`  ${id.padEnd(width)}  ${status.padEnd(11)}  ${at.padEnd(12)}  ${printable(title)}${cost}`);
  }
}
