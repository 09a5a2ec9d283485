import { expect, test } from 'vitest';
import type { AgentosEvent, ItemEvent } from '../core/events.ts';
import type { GateEvidence } from '../core/gate.ts';
import { consoleSubscriber, type Level } from './event-lines.ts';

const AT = '2026-01-01T00:00:00.000Z';

function shown(level: Level, event: ItemEvent, { colour = false, item = '42', workflow = 'implement' } = {}): string[] {
  const lines: string[] = [];
  const terminal = { colour, line: (text: string) => void lines.push(text) };
  consoleSubscriber(terminal, level)({ at: AT, item, workflow, ...event } as AgentosEvent);
  return lines;
}

const gate = (evidence: Partial<GateEvidence>): ItemEvent => ({
  type: 'gate-checked',
  round: 1,
  gate: 'red',
  passed: true,
  skipped: null,
  command: null,
  counts: null,
  hash: null,
  summary: '2 new tests fail, as they should',
  details: ['a detail'],
  problems: [],
  ...evidence,
});
const ended: ItemEvent = {
  type: 'item-finished',
  status: 'succeeded',
  durationMs: 65_000,
  attempts: 1,
  reason: null,
  error: null,
  outputs: ['agentos/42-add', 'docs/reports/42.md'],
};

test.each<[string, ItemEvent, Level]>([
  ['a verdict', { type: 'review-read', round: 1, verdict: 'REVISE', tiers: [1, 0, 2], problems: [] }, 'live'],
  ['a gate that decides', gate({}), 'live'],
  ['a gate that fails', gate({ gate: 'tests', passed: false, problems: ['no test'] }), 'live'],
  ['a reply that is not taken', { type: 'reply-rejected', step: 'draft', reason: 'x' }, 'live'],
  ['an end', ended, 'quiet'],
  ['a start', { type: 'item-started', title: 'x', attempt: 1, reusedSteps: 0 }, 'normal'],
  ['a paid step', { type: 'step-started', step: 'draft', model: 'm' }, 'normal'],
  ['a step of our own', { type: 'step-started', step: 'begin', model: null }, 'verbose'],
  ['a wait', { type: 'quota-waiting', vendor: 'v', reason: 'quota', forMs: 1 }, 'normal'],
  ['a gate of which there is nothing to say', gate({ gate: 'frozen' }), 'normal'],
  ['a line of a program', { type: 'output-line', stream: 'stderr', line: 'x' }, 'normal'],
])('%s is shown from its level on', (_name, event, from) => {
  const levels: Level[] = ['quiet', 'live', 'normal', 'verbose'];
  const isShown = levels.map((level) => shown(level, event).length > 0);
  expect(isShown).toEqual(levels.map((_, index) => index >= levels.indexOf(from)));
});

test.each<[ItemEvent, string[]]>([
  [gate({}), ['red: 2 new tests fail, as they should']],
  [gate({ passed: false, problems: ['"010" passes\nmore'] }), ['red: "010" passes']],
  [gate({ passed: false, problems: ['one', 'two'] }), ['red: 2 problems', '  one', '  two']],
  [gate({ gate: 'coverage', skipped: 'no target' }), ['coverage: not checked: no target']],
  [
    { type: 'review-read', round: 2, verdict: 'REVISE', tiers: [1, 0, 2], problems: [] },
    ['review 2: REVISE (1 Tier 1, 2 Tier 3)'],
  ],
  [
    { type: 'review-read', round: 1, verdict: 'APPROVED', tiers: [0, 0, 0], problems: [] },
    ['review 1: APPROVED (no findings)'],
  ],
  [ended, ['succeeded (agentos/42-add, 1m 05s)']],
  [{ type: 'quota-waiting', vendor: 'google', reason: 'quota', forMs: 12_000 }, ['waits for quota of google for 12 s']],
  [
    { type: 'quota-waiting', vendor: 'google', reason: 'pace', forMs: 2_100 },
    ['pace: holds the next request to google for 3 s'],
  ],
  [{ type: 'quota-waiting', vendor: 'google', reason: 'key', forMs: null }, ['pace: waits for a free key of google']],
])('%j reads as people expect', (event, lines) => {
  expect(shown('normal', event)).toEqual(lines.map((line) => `[IMPL-42] ${line}`));
});

test('an item has its own colour in all of its workflows, on its prefix only', () => {
  const prefix = (item: string, workflow: string): string =>
    shown('normal', { type: 'notice', text: 'x' }, { colour: true, item, workflow })[0] ?? '';
  expect(prefix('42', 'lld')).toBe('\u001B[35m[LLD-42]\u001B[0m x');
  expect(prefix('42', 'implement')).toBe('\u001B[35m[IMPL-42]\u001B[0m x');
  const codes = Array.from({ length: 10 }, (_, index) => prefix(String(40 + index), 'lld').slice(2, 4));
  expect(new Set(codes).size).toBe(10);
  expect(codes).not.toContain('31');
  expect(prefix('dark-mode', 'issue')).toBe(prefix('dark-mode', 'issue'));
});

test('colours and titles in a program’s output are removed completely', () => {
  const line = '\u001B[31mfailed\u001B[0m: \u001B]0;title\u0007x\u001B[2K [31m is text';
  expect(shown('normal', { type: 'output-line', stream: 'stdout', line })).toEqual([
    '[IMPL-42] failed: x [31m is text',
  ]);
});

test('a model with three roles is listed once, after the roles', () => {
  const lines: string[] = [];
  const terminal = { colour: false, line: (text: string) => void lines.push(text) };
  const models = { drafter: 'offline', reviewer: 'offline', implementer: 'offline' };
  const plain = {
    at: AT,
    type: 'run-started',
    runId: 'r',
    workflow: 'run',
    items: ['1'],
    parallel: 1,
    groups: [],
  } as const;
  consoleSubscriber(terminal, 'normal')({ ...plain, items: ['1'], groups: [], models });
  expect(lines).toEqual(['[COORDINATOR] run: 1 item(s), 1 at a time, drafter, reviewer and implementer offline']);
});
