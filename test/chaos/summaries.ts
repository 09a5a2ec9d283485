import type { AgentosEvent } from '../../src/core/events.ts';
import type { ItemStatus } from '../../src/core/item.ts';
import type { Summary } from '../../src/core/summary.ts';
import type { Act } from './act.ts';
import { type Facts, lostFiles } from './facts.ts';

const STATUSES: ReadonlySet<string> = new Set<ItemStatus>([
  'succeeded',
  'skipped',
  'discuss',
  'failed',
  'timed-out',
  'over-budget',
  'stalled',
  'crashed',
  'paused',
  'cancelled',
]);
const FAILURES: ReadonlySet<string> = new Set(['failed', 'timed-out', 'over-budget', 'stalled', 'crashed']);
const CODES: ReadonlySet<number | null> = new Set([0, 1, 2, 3, 75, 130, 143]);

function startedOf({ events }: Act): Extract<AgentosEvent, { type: 'run-started' }> | null {
  const found = events.find(({ event }) => event.type === 'run-started')?.event;
  return found?.type === 'run-started' ? found : null;
}

/** Those that were neither killed nor did anything else than run items. */
function batches({ acts }: Facts): Act[] {
  return acts.filter(({ args, killed }) => killed === 'no' && args[0] !== 'clean');
}

export function stateProblems(facts: Facts): string[] {
  return batches(facts).flatMap((act) => {
    const started = startedOf(act);
    if (started === null) return [];
    if (act.summary === null)
      return [`${labelOf(act)}: no summary; it said: ${act.stderr.trim().split('\n').slice(-3).join(' / ')}`];
    const named = act.summary.items.map(({ id }) => id);
    return [
      ...(sameList(named, started.items)
        ? []
        : [`${labelOf(act)}: began with ${started.items.join()}, summed up ${named.join()}`]),
      ...act.summary.items.filter(({ status }) => !STATUSES.has(status)).map(({ id, status }) => `${id} is ${status}`),
    ];
  });
}

export function disagreements(facts: Facts): string[] {
  return batches(facts).flatMap((act) => {
    const { summary, noise, events } = act;
    const problems = noise.map((line) => `printed with --json, but not JSON: ${line.slice(0, 200)}`);
    if (startedOf(act) !== null && summary !== null) {
      problems.push(
        ...againstEvents(
          summary,
          events.map(({ event }) => event),
        ),
      );
      if (!lostFiles(facts, act)) problems.push(...againstFiles(summary, act));
    }
    return problems.map((problem) => `${labelOf(act)}: ${problem}`);
  });
}

function againstEvents(summary: Summary, events: readonly AgentosEvent[]): string[] {
  const problems: string[] = [];
  const last = events.at(-1);
  if (last?.type !== 'run-finished') problems.push(`the last event is ${last?.type}`);
  else if (last.exitCode !== summary.exitCode)
    problems.push(`run-finished says ${last.exitCode}, the summary ${summary.exitCode}`);
  for (const { id, status } of summary.items) {
    const ends = events.filter(
      (event) => event.type === 'item-finished' && event.item === id && event.goesOnWith === undefined,
    );
    const [end] = ends;
    if (ends.length !== 1) problems.push(`${id} has ${ends.length} ends`);
    else if (end?.type === 'item-finished' && end.status !== status)
      problems.push(`${id} is ${status}, its event says ${end.status}`);
  }
  const counted = Object.entries(summary.counts).filter(
    ([name, count]) =>
      count !==
      (name === 'total' ? summary.items.length : summary.items.filter(({ status }) => status === name).length),
  );
  if (counted.length > 0) problems.push(`counts are wrong: ${JSON.stringify(summary.counts)}`);
  return problems;
}

/** The lines of events.jsonl are a chain of hashes; what is printed is not. */
function withoutChain(text: string): string {
  const { chain: _, ...rest } = (parse(text) ?? {}) as { chain?: string };
  return JSON.stringify(rest);
}

/** What was printed is what is in the files. */
function againstFiles(summary: Summary, { files, events }: Act): string[] {
  const problems: string[] = [];
  if (files.summary === null || JSON.stringify(parse(files.summary)) !== JSON.stringify(summary))
    problems.push('summary.json is another one');
  const lines = (files.events?.trimEnd().split('\n') ?? []).map(withoutChain);
  const printed = events.map(({ event }) => JSON.stringify(event));
  if (!sameList(lines, printed))
    problems.push(`events.jsonl has ${lines.length} lines, ${printed.length} were printed`);
  return problems;
}

export function exitCodeProblems(facts: Facts): string[] {
  return facts.acts
    .filter(({ killed }) => killed === 'no')
    .flatMap((act) => {
      const { code, signal, signals, summary, events } = act;
      const name = labelOf(act);
      const [sent] = signals;
      const isStopped = events.some(({ event }) => event.type === 'interrupted');
      if (code === null) {
        // Node listens neither before it runs our code nor while it shuts down.
        const isUnheard = sent?.signal === signal && (!sent.isHeard || (summary !== null && !isStopped));
        return isUnheard ? [] : [`${name}: ended by ${signal}`];
      }
      if (!CODES.has(code)) return [`${name}: ended with ${code}`];
      if (code === 2 && startedOf(act) !== null) return [`${name}: 2, but the run had started: ${lastWords(act)}`];
      const interrupted = sent?.signal === 'SIGINT' ? 130 : sent?.signal === 'SIGTERM' ? 143 : null;
      if (isStopped) return code === interrupted ? [] : [`${name}: interrupted by ${sent?.signal}, ended with ${code}`];
      if (summary === null) return [];
      const expected = codeOf(summary.items.map(({ status }) => status));
      const isRight = code === expected || code === interrupted;
      return isRight && summary.exitCode === code
        ? []
        : [`${name}: ended with ${code}, summary says ${summary.exitCode}, its items say ${expected}`];
    });
}

function codeOf(statuses: readonly string[]): number {
  if (statuses.some((status) => FAILURES.has(status))) return 1;
  if (statuses.includes('paused')) return 75;
  if (statuses.includes('discuss')) return 3;
  return statuses.includes('cancelled') ? 1 : 0;
}

function labelOf({ args, summary }: Act): string {
  return `${args[0]}${summary?.runId ? ` (${summary.runId})` : ''}`;
}

function lastWords({ stderr }: Act): string {
  return stderr.trim().split('\n').slice(-2).join(' / ').slice(0, 300);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function sameList(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((entry, index) => entry === other[index]);
}
