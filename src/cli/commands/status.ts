import { AgentosError } from '../../core/errors.ts';
import { EXIT } from '../../core/exit-code.ts';
import { localTime } from '../../core/local-time.ts';
import { createTerminal, paint, printable } from '../../output/terminal.ts';
import { type RunHistory, readRun, runIds } from '../../workspace/run-history.ts';
import { type PlaceFlags, projectOf } from '../place-flags.ts';

const SHOWN_RUNS = 5;

export async function statusCommand(run: string | undefined, flags: PlaceFlags & { json?: boolean }): Promise<number> {
  const { paths, mask } = await projectOf(flags);
  const known = await runIds(paths);
  if (run !== undefined && !known.includes(run)) throw new AgentosError({ code: 'run-missing', run });
  const wanted = run === undefined ? known.slice(0, SHOWN_RUNS) : [run];
  const runs = (await Promise.all(wanted.map((id) => readRun(paths, id)))).filter((entry) => entry !== null);
  // A folder without a record is what a run left that was killed in its first moment.
  if (run !== undefined && runs.length === 0) throw new AgentosError({ code: 'run-missing', run });
  if (flags.json) {
    process.stdout.write(`${mask(JSON.stringify({ runs }, null, 2))}\n`);
    return EXIT.ok;
  }
  const terminal = createTerminal(process.stdout, process.env, mask);
  if (runs.length === 0) terminal.line('No runs yet. Start one with: agentos lld --all');
  for (const entry of runs) printRun(terminal, entry);
  const older = run === undefined ? known.slice(SHOWN_RUNS) : [];
  if (older.length > 0) terminal.line(`${older.length} older run(s), the newest of them: agentos status ${older[0]}`);
  return EXIT.ok;
}

function printRun(terminal: ReturnType<typeof createTerminal>, run: RunHistory): void {
  terminal.line(`${paint(terminal, 'bold', run.runId)}  ${run.workflow}  ${run.state}  ${localTime(run.startedAt)}`);
  const width = run.items.reduce((most, item) => Math.max(most, item.id.length), 0);
  for (const { id, status, workflow, step, title, costUsd } of run.items) {
    const cost = costUsd ? `  $${costUsd.toFixed(4)}` : '';
    // Stages of a pipeline have steps of the same name.
    const at = run.workflow === 'run' && workflow !== null ? `${workflow} ${step ?? '-'}` : (step ?? '-');
    terminal.line(`  ${id.padEnd(width)}  ${status.padEnd(11)}  ${at.padEnd(12)}  ${printable(title)}${cost}`);
  }
}
