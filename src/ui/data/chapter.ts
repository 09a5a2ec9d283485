import { readFile } from 'node:fs/promises';
import { formatDuration } from '../../core/duration.ts';
import type { AgentosEvent, LedgerEntry } from '../../core/events.ts';
import type { ItemId } from '../../core/ids.ts';
import { parseJson } from '../../core/json.ts';
import type { RunPaths, WorkflowName } from '../../core/paths.ts';
import type { Call } from '../../core/timeline.ts';
import type { Block, Chapter, Tone } from '../api.ts';

export type ItemAgentosEvent = Extract<AgentosEvent, { item: string }>;

/** The events in the audit file of an item in one run; none if there is no such file. */
export async function auditedEvents(run: RunPaths, workflow: WorkflowName, id: ItemId): Promise<ItemAgentosEvent[]> {
  const text = await readFile(run.audit(workflow, id), 'utf8').catch(() => '');
  return text.split('\n').flatMap((line) => {
    const event = line === '' ? null : parseJson(line);
    return isEvent(event) ? [event] : [];
  });
}

/** Another version of this program may have written it, so any other field may be missing. */
function isEvent(value: unknown): value is ItemAgentosEvent {
  return typeof value === 'object' && value !== null && 'type' in value && 'at' in value && 'item' in value;
}

/** The models, time and cost of the calls of some steps, added up; none without calls. */
export function callFacts(calls: readonly Call[], steps: RegExp): string[] {
  const own = calls.filter(({ step }) => steps.test(step));
  if (own.length === 0) return [];
  const models = [...new Set(own.map(({ model }) => model))].join(', ');
  const durationMs = own.reduce((sum, { fromMs, toMs }) => sum + toMs - fromMs, 0);
  const isPriced = own.every(({ costUsd }) => costUsd !== null);
  // A command, or an agent with its own login, does not report its usage.
  const isMetered = own.some(({ inputTokens, outputTokens }) => inputTokens + outputTokens > 0);
  const usd = own.reduce((sum, { costUsd }) => sum + (costUsd ?? 0), 0);
  return [
    models,
    formatDuration(durationMs),
    ...(own.length > 1 ? [`${own.length} calls`] : []),
    ...(usd > 0 ? [`$${usd.toFixed(usd < 1 ? 4 : 2)}`] : isPriced ? [] : [isMetered ? 'price unknown' : 'not metered']),
  ];
}

export function verdictTone(verdict: string | null): Tone {
  return verdict === 'APPROVED' ? 'good' : verdict === 'REVISE' ? 'plain' : 'wait';
}

/** `REVISE: 2 in Tier 1, 1 in Tier 3` */
export function verdictGist(verdict: string | null, tiers: readonly number[]): string {
  const found = tiers.flatMap((many, at) => (many === 0 ? [] : [`${many} in Tier ${at + 1}`]));
  return `${verdict ?? 'no verdict'}: ${found.join(', ') || 'no findings'}`;
}

/** Matches the calls of a step, including repeated ones and rounds with tools. */
export function callsOfStep(step: string): RegExp {
  return new RegExp(`^(?:${step})(?:-again)?(?:\\.\\d+)?$`);
}

export function points(title: string, given: readonly string[]): Block[] {
  return given.length === 0 ? [] : [{ type: 'points', title, points: given }];
}

/** The final ledger: every finding, and the rounds in which it was raised and settled. */
export function ledgerChapter(events: readonly ItemAgentosEvent[], title: string): Chapter[] {
  const last = events.findLast((event) => event.type === 'ledger-updated');
  if (last?.type !== 'ledger-updated' || last.findings.length === 0) return [];
  const { findings } = last;
  const states: LedgerEntry['state'][] = ['open', 'disputed', 'fixed', 'withdrawn'];
  const gist = states
    .flatMap((state) => {
      const many = findings.filter((finding) => finding.state === state).length;
      return many === 0 ? [] : [`${many} ${state}`];
    })
    .join(', ');
  const key = `findings-${last.workflow}`;
  const isOpen = findings.length <= 12;
  return [{ key, title, tone: 'plain', at: last.at, facts: [], gist, blocks: [{ type: 'ledger', findings }], isOpen }];
}
