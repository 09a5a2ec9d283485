import { type AgentosError, usageError } from '../../core/errors.ts';
import type { ItemId } from '../../core/ids.ts';
import type { Paths } from '../../core/paths.ts';
import { describeDecision } from '../../documents/decision.ts';
import { createTerminal, printable } from '../../output/terminal.ts';
import { runIds } from '../../run/history/run-files.ts';
import { itemHistories } from '../../run/history/run-history.ts';
import { withCachedIssues } from '../../run/project.ts';
import { decide, type Word } from '../../run/standing/decide.ts';
import { decideAtHub } from '../at-hub.ts';
import { printJsonLine } from '../print.ts';
import { type PlaceFlags, projectOf, readItemId } from '../request.ts';

interface DecideFlags extends PlaceFlags {
  approve?: boolean;
  revise?: string;
  drop?: boolean;
  reason?: string;
}

/** Records a person's decision on an item that waits; the next run resumes from it, and until then it can be replaced. */
export async function decideCommand(idText: string, flags: DecideFlags): Promise<void> {
  const id = readItemId(idText, flags.repo);
  const word = wordOf(id, flags);
  const project = withCachedIssues(await projectOf(flags));
  const { paths, mask } = project;
  const { workflow, decision, lineage, replaces, kept } = await decideAtHub(project, flags, id, () =>
    decide(project, id, word),
  );
  const next = kept === null ? await resumeCommandOf(paths, id) : null;
  if (flags.json) {
    const { by, at, reason } = decision;
    return printJsonLine({ workflow, id, decision: decision.kind, by, at, reason, lineage, next }, mask);
  }
  const terminal = createTerminal(mask);
  terminal.line(`${workflow} ${id} is ${printable(describeDecision(decision))}`);
  terminal.line(`Recorded in ${lineage}${replaces ? ', in place of the decision before it' : ''}`);
  if (next === null) terminal.line(`${kept} counts for what the issue says now; nothing has to run.`);
  else terminal.line(`Resume with: ${next}  (or: agentos ${workflow} ${id}, also with other models)`);
}

async function resumeCommandOf(paths: Paths, id: ItemId): Promise<string> {
  const last = (await itemHistories(paths)).get(id)?.last;
  const isNewest = last === undefined || (await runIds(paths))[0] === last.runId;
  return isNewest ? 'agentos resume' : `agentos resume ${last.runId}`;
}

function wordOf(id: string, { approve, revise, drop, reason }: DecideFlags): Word {
  const words = (text: string | undefined): string | null => text?.trim() || null;
  const given = [approve, revise !== undefined, drop].filter((one) => one === true).length;
  const usage = (problem: string): AgentosError =>
    usageError(problem, `agentos decide ${id} --approve | --revise "what to change" | --drop   [--reason "why"]`);
  if (given === 0) throw usage('Say what you decide: --approve, --revise or --drop.');
  if (given > 1) throw usage('--approve, --revise and --drop exclude each other.');
  if (revise === undefined) return { kind: approve ? 'approve' : 'drop', reason: words(reason), change: null };
  const change = words(revise);
  if (change === null) throw usage('--revise needs words: what is to be changed?');
  return { kind: 'revise', reason: words(reason), change };
}
