import { formatDuration, waitText } from '../core/duration.ts';
import type { CaseResult } from '../core/evaluation.ts';
import type { AgentosEvent, Subscriber, WaitReason } from '../core/events.ts';
import { parseItemId } from '../core/ids.ts';
import type { ItemStatus } from '../core/item.ts';
import { labelOf } from '../core/paths.ts';
import { describeGroup } from '../core/plan.ts';
import { wordingOf } from '../core/wording.ts';
import { paint, paintLabel, printable, type Terminal } from './terminal.ts';

/** `live`: verdicts, failures and ends, above a live region that shows the steps. */
export type Level = 'quiet' | 'live' | 'normal' | 'verbose';
type Style = 'plain' | 'dim' | 'green' | 'yellow' | 'red';

interface Line {
  text: string;
  style: Style;
  /** The least verbosity at which it is shown. */
  from: Level;
}

const STATUS_STYLE: Record<ItemStatus, Style> = {
  succeeded: 'green',
  skipped: 'dim',
  discuss: 'yellow',
  failed: 'red',
  'timed-out': 'red',
  'over-budget': 'red',
  stalled: 'red',
  crashed: 'red',
  paused: 'yellow',
  cancelled: 'yellow',
};

/** Shorter pauses are shown in the live region only. */
const LONG_PAUSE_MS = 60_000;

const line = (text: string, style: Style = 'plain', from: Level = 'normal'): Line => ({ text, style, from });

/** The lines of an event, without their prefix. */
export function linesOf(event: AgentosEvent): Line[] {
  switch (event.type) {
    case 'run-started': {
      const count = `${event.workflow}: ${event.items.length} item(s), ${event.parallel} at a time`;
      return [
        line([count, ...modelsOf(event.models)].join(', '), 'dim', 'live'),
        line(`run ${event.runId}`, 'dim', 'verbose'),
        ...event.groups.map((group) => line(describeGroup(group), 'dim', 'live')),
      ];
    }
    case 'warning':
      return [line(event.text, 'yellow', 'quiet')];
    case 'interrupted': {
      const text = `${event.signal}: stopping; finished work is kept. A second signal stops at once.`;
      return [line(text, 'yellow', 'quiet')];
    }
    case 'suspended': {
      const text = `suspended for ${formatDuration(event.forMs)}; deadlines are extended by that time`;
      return [line(text, 'yellow', 'quiet')];
    }
    case 'key-cooling':
      return [line(`rate limit on ${event.keyId} (${event.why}) ${waitText(event.forMs, event.at)}`, 'yellow')];
    case 'key-dead':
      return [line(`${event.keyId} disabled: ${event.reason}`, 'red', 'quiet')];
    case 'groups-merged':
      return [line(`${event.keyIds.join(', ')} share one quota`, 'dim', 'verbose')];
    case 'pool-exhausted': {
      const time = event.forMs === null ? '' : ` ${waitText(event.forMs, event.at)}`;
      if (event.reason !== 'quota') return [line(`${holdText(event)}${time}; nothing new is started`, 'dim')];
      const isLong = event.forMs === null || event.forMs >= LONG_PAUSE_MS;
      const text = `pool exhausted: no key of ${event.vendor} has quota left; paused${time}`;
      return [line(text, 'yellow', isLong ? 'quiet' : 'normal')];
    }
    case 'pool-resumed':
      return event.reason === 'quota'
        ? [line(`resumed: ${event.vendor} has quota again`, 'green')]
        : [line(`${event.vendor} can be used again`, 'dim')];
    case 'run-finished':
      return [];
    case 'item-started': {
      const facts: string[] = [];
      if (event.reusedSteps > 0) facts.push(`resumes after ${event.reusedSteps} finished step(s)`);
      if (event.attempt > 1) facts.push(`attempt ${event.attempt}`);
      return [line(facts.length === 0 ? event.title : `${event.title} (${facts.join(', ')})`)];
    }
    case 'step-started':
      return [event.model ? line(`${event.step} … ${event.model}`, 'dim') : line(`${event.step} …`, 'dim', 'verbose')];
    case 'step-finished':
      return event.replayed
        ? [line(`${event.step}: taken from the checkpoint`, 'dim')]
        : [line(`${event.step}: done in ${formatDuration(event.durationMs)}`, 'dim', 'verbose')];
    case 'model-answered': {
      const { usage, metered, costUsd } = event;
      const facts = [`${event.step}: answered in ${formatDuration(event.durationMs)}`];
      if (metered && usage.inputTokens + usage.outputTokens > 0)
        facts.push(`${usage.inputTokens} tokens in, ${usage.outputTokens} out`);
      if (costUsd === null) facts.push(metered ? 'price unknown' : 'not metered');
      else if (costUsd > 0) facts.push(`$${costUsd.toFixed(4)}`);
      return [line(facts.join(', '))];
    }
    case 'model-substituted':
      return [line(`asked for ${event.asked}, but ${event.answered} answered as ${event.role}`, 'yellow', 'quiet')];
    case 'draft-checked': {
      const summary = `checks: ${event.errors.length} error(s), ${event.warnings.length} warning(s)`;
      return [
        line(summary, event.errors.length > 0 ? 'yellow' : 'plain'),
        ...event.errors.map((finding) => line(`  error ${finding}`, 'yellow')),
        ...event.warnings.map((finding) => line(`  warning ${finding}`, 'dim', 'verbose')),
      ];
    }
    case 'set-aside':
    case 'ledger-updated':
      return [];
    case 'reply-rejected':
      return [line(`${event.step}: rejected: ${event.reason}`, 'yellow', 'live')];
    case 'review-read': {
      const style = event.verdict === 'APPROVED' ? 'green' : 'yellow';
      const findings = event.tiers.flatMap((count, at) => (count === 0 ? [] : [`${count} Tier ${at + 1}`])).join(', ');
      return [
        line(`review ${event.round}: ${event.verdict ?? 'no verdict'} (${findings || 'no findings'})`, style, 'live'),
        ...event.problems.map((problem) => line(`  ${problem}`, 'yellow', 'live')),
      ];
    }
    case 'file-written':
      return [line(`wrote ${event.path}`, 'plain', event.what === 'lineage' ? 'verbose' : 'normal')];
    case 'tests-ran': {
      const { passed, failed, skipped, notLoaded } = event.counts;
      const some = [`${passed} passed`, `${failed} failed`];
      if (skipped > 0) some.push(`${skipped} skipped`);
      if (notLoaded > 0) some.push(`${notLoaded} could not load`);
      const took = formatDuration(event.durationMs);
      return [line(`${event.step}: ${event.outcome} (${some.join(', ')}) in ${took}`, 'dim')];
    }
    case 'gate-checked':
      return gateLines(event);
    case 'changes-undone':
      return [line(`undone, ${event.why}: ${event.paths.join(', ')} (kept as ${event.patch})`, 'yellow', 'live')];
    case 'committed':
      return [line(`committed the ${event.what} on ${event.branch}: ${event.commit.slice(0, 12)}`)];
    case 'quota-waiting':
      return [line(`${holdText(event)}${event.forMs === null ? '' : ` ${waitText(event.forMs, event.at)}`}`, 'yellow')];
    case 'quota-resumed':
      return [line(`resumed after ${formatDuration(event.waitedMs)} (${event.reason})`, 'dim')];
    case 'answer-reused':
      return [line(`${event.step}: already paid for, taken from the gateway`, 'dim')];
    case 'gateway-call': {
      const { vendor, status, keyId, waitedMs } = event;
      const waited = waitedMs > 1_000 ? `, waited ${formatDuration(waitedMs)}` : '';
      return [line(`${vendor} ${status ?? 'no answer'} with ${keyId ?? 'no key'}${waited}`, 'dim', 'verbose')];
    }
    case 'output-line':
      return [line(event.line, 'dim', event.of === undefined ? 'normal' : 'verbose')];
    case 'notice':
      return [line(event.text)];
    case 'case-judged':
      return [line(caseText(event.result), 'plain', 'live')];
    case 'branch-landed': {
      const { id, branch, status, reason, error } = event;
      const detail = error === null ? reason : wordingOf(error.problem).message;
      const why = detail === null ? '' : `: ${detail}`;
      if (status === 'succeeded') return [line(`${id} is in (${branch})${why}`, 'green', 'live')];
      return [line(`${id} is out (${branch})${why}`, status === 'failed' ? 'red' : 'yellow', 'quiet')];
    }
    case 'item-retrying': {
      const next = `Attempt ${event.attempt} in ${formatDuration(event.delayMs)}.`;
      return [line(`${wordingOf(event.error.problem).message} ${next}`, 'yellow', 'live')];
    }
    case 'item-finished':
      return endLines(event);
  }
}

function caseText(result: CaseResult): string {
  if (result.kind === 'design') return `${result.said.verdict} after ${result.said.rounds} round(s)`;
  const { said, right, because } = result;
  const judged = said.verdict === right ? 'right' : `${right} was right`;
  return `${said.verdict}: ${judged} (${because}); ${said.confirmed} of ${said.findings} finding(s) confirmed`;
}

/** An item that a stopped run never started gets a line only if it has its own reason. */
function endLines(event: Extract<AgentosEvent, { type: 'item-finished' }>): Line[] {
  const { status, attempts, durationMs, reason, outputs } = event;
  if (status === 'cancelled' && attempts === 0 && event.error?.problem.code !== 'item-cancelled') {
    if (event.error !== null || reason === null) return [line('cancelled: not started', 'dim', 'verbose')];
    return [line(`cancelled: ${reason}`, 'yellow', 'quiet')];
  }
  const error = event.error ? wordingOf(event.error.problem) : null;
  const detail = error?.message ?? reason;
  const made = status === 'succeeded' && outputs[0] !== undefined ? `${outputs[0]}, ` : '';
  const text = `${status}${detail ? `: ${detail}` : ''} (${made}${formatDuration(durationMs)})`;
  const lines = [line(text, STATUS_STYLE[status], 'quiet')];
  if (error?.hint && status !== 'cancelled') lines.push(line(error.hint, 'dim', 'quiet'));
  return lines;
}

function holdText({ vendor, reason }: { vendor: string; reason: WaitReason }): string {
  switch (reason) {
    case 'quota':
      return `waits for quota of ${vendor}`;
    case 'pace':
      return `pace: holds the next request to ${vendor}`;
    case 'key':
      return `pace: waits for a free key of ${vendor}`;
    case 'retry':
      return `retry: ${vendor} is failing; holds the next request`;
  }
}

function gateLines(event: Extract<AgentosEvent, { type: 'gate-checked' }>): Line[] {
  const { gate, skipped, passed, problems } = event;
  const details = event.details.map((detail) => line(`  ${detail}`, 'dim', 'verbose'));
  if (skipped !== null) return [line(`${gate}: not checked: ${skipped}`, 'dim'), ...details];
  if (passed) return [line(`${gate}: ${event.summary}`, 'green', VERDICTS.has(gate) ? 'live' : 'normal'), ...details];
  const [headline, indent] =
    problems.length === 1 ? [[], `${gate}: `] : [[`${gate}: ${problems.length} problems`], '  '];
  return [
    ...headline.map((text) => line(text, 'yellow', 'live')),
    ...problems.flatMap((problem) => {
      const [first = '', ...more] = problem.split('\n');
      return [line(indent + first, 'yellow', 'live'), ...more.map((text) => line(`    ${text}`, 'dim', 'verbose'))];
    }),
    ...details,
  ];
}

const VERDICTS: ReadonlySet<string> = new Set(['red', 'green', 'coverage', 'reverse']);

/** A model with several roles is listed once. */
function modelsOf(models: Record<string, string>): string[] {
  const roles = Map.groupBy(Object.keys(models), (role) => models[role] ?? '');
  const and = new Intl.ListFormat('en-GB');
  return [...roles].map(([spec, names]) => `${and.format(names)} ${spec}`);
}

const RANK: Record<Level, number> = { quiet: 0, live: 1, normal: 2, verbose: 3 };

function prefixOf(terminal: Terminal, event: AgentosEvent): string {
  if (!('item' in event)) return paint(terminal, 'dim', '[COORDINATOR]');
  const label = labelOf(event.workflow, parseItemId(event.item));
  return paintLabel(terminal, label, `[${label}]`);
}

/** Prints events as lines: prefix, one space, the line. */
export function consoleSubscriber(terminal: Terminal, level: Level): Subscriber {
  return (event) => {
    for (const line of linesOf(event)) {
      if (RANK[line.from] > RANK[level]) continue;
      for (const text of line.text.split('\n')) {
        const { style } = line;
        const shown = style === 'plain' ? printable(text) : paint(terminal, style, printable(text));
        terminal.line(`${prefixOf(terminal, event)} ${shown}`);
      }
    }
  };
}
