import { expect, test } from 'vitest';
import type { ErrorCode, LastRun, Problem } from './errors.ts';
import { wordingOf } from './wording.ts';

const NASTY = 'a\nb\r\n\u001B[31mc\u0007\u009B2Jd\u2028e';

/** Every code, and where one has several wordings each of them: a new code does not compile without an entry. */
const problemsWith = (text: string): { [Code in ErrorCode]: Extract<Problem, { code: Code }>[] } => ({
  usage: [{ code: 'usage', reason: text, hint: text }],
  'bad-id': [
    { code: 'bad-id', id: text },
    { code: 'bad-id', id: `${text}.md` },
  ],
  'config-unreadable': [{ code: 'config-unreadable', file: text, reason: 'ENOENT' }],
  'config-invalid': [{ code: 'config-invalid', file: text, line: 3, path: text, reason: text }],
  'model-spec-invalid': [{ code: 'model-spec-invalid', spec: text, reason: text }],
  'key-missing': [
    { code: 'key-missing', missing: [{ provider: 'google', variables: [], roles: ['reviewer'] }] },
    { code: 'key-missing', missing: [{ provider: 'google', variables: [text], roles: ['reviewer', 'drafter'] }] },
  ],
  'prompt-invalid': [{ code: 'prompt-invalid', file: text, reason: text }],
  'git-missing': [{ code: 'git-missing' }],
  'repository-missing': [{ code: 'repository-missing', directory: text }],
  'repository-empty': [{ code: 'repository-empty', directory: text }],
  'state-unsafe': [{ code: 'state-unsafe', directory: text, reason: 'it is a link' }],
  'file-unreadable': [{ code: 'file-unreadable', path: 'docs/lineage/42', reason: 'is a link that leaves the folder' }],
  'leads-outside': [{ code: 'leads-outside', path: '/r/docs/lld', folder: '/r' }],
  'sandbox-missing': [{ code: 'sandbox-missing', reason: text, todo: text }],
  'state-unwritable': [{ code: 'state-unwritable', directory: text, reason: 'EROFS' }],
  'ui-unreachable': [{ code: 'ui-unreachable', host: text, port: 1, reason: 'EADDRINUSE' }],
  'run-ended': [{ code: 'run-ended', run: text }],
  'run-unreadable': [{ code: 'run-unreadable', run: text, file: text }],
  'database-unreachable': [{ code: 'database-unreachable', database: text, reason: text }],
  'database-refused': [{ code: 'database-refused', database: text, reason: text }],
  'database-schema': [
    { code: 'database-schema', database: text, found: 1, known: 2 },
    { code: 'database-schema', database: text, found: 3, known: 2 },
  ],
  'hub-missing': [{ code: 'hub-missing', database: text, reason: text }],
  'hub-running': [{ code: 'hub-running', database: text }],
  'machine-revoked': [{ code: 'machine-revoked', machine: text }],
  'machine-missing': [
    { code: 'machine-missing', machine: text, near: [] },
    { code: 'machine-missing', machine: text, near: [text] },
  ],
  'machine-lost': [{ code: 'machine-lost', machine: text, times: 5 }],
  'lease-lost': [{ code: 'lease-lost' }],
  'item-elsewhere': [{ code: 'item-elsewhere', workflow: 'lld', id: '42' }],
  'postgres-missing': [{ code: 'postgres-missing', reason: text }],
  'postgres-failed': [{ code: 'postgres-failed', reason: text }],
  'source-missing': [{ code: 'source-missing', directory: text }],
  'issue-missing': [
    { code: 'issue-missing', id: '1', path: text, near: [] },
    { code: 'issue-missing', id: '1', path: text, near: ['2', '3'] },
  ],
  'issue-unreadable': [{ code: 'issue-unreadable', id: '1', path: text, reason: text }],
  'briefs-missing': [{ code: 'briefs-missing', directory: text }],
  'brief-missing': [{ code: 'brief-missing', id: 'a', path: text, near: ['b'] }],
  'brief-unreadable': [{ code: 'brief-unreadable', id: 'a', path: text, reason: 'EISDIR' }],
  'provider-rejected-key': [{ code: 'provider-rejected-key', provider: 'openai', status: 401, detail: text }],
  'provider-quota': [
    { code: 'provider-quota', provider: 'openai', status: 429, detail: text, retryAfterMs: null },
    { code: 'provider-quota', provider: 'openai', status: null, detail: text, retryAfterMs: 5_000 },
  ],
  'provider-overloaded': [{ code: 'provider-overloaded', provider: 'openai', status: 503, detail: text }],
  'provider-unreachable': [{ code: 'provider-unreachable', provider: 'openai', detail: text }],
  'provider-refused-request': [{ code: 'provider-refused-request', provider: 'openai', status: 400, detail: text }],
  'provider-bad-reply': [{ code: 'provider-bad-reply', provider: 'openai', detail: text }],
  'reply-empty': [{ code: 'reply-empty', provider: 'openai' }],
  'reply-truncated': [{ code: 'reply-truncated', provider: 'openai', outputTokens: 8_192 }],
  'reply-filtered': [{ code: 'reply-filtered', provider: 'openai', reason: text }],
  'reply-too-large': [{ code: 'reply-too-large', provider: 'openai', limitBytes: 8_388_608 }],
  'model-downgraded': [{ code: 'model-downgraded', asked: text, answered: text }],
  'command-failed': [
    { code: 'command-failed', command: text, exitCode: 1, signal: null, detail: text },
    { code: 'command-failed', command: text, exitCode: 1, signal: null, detail: text, sandboxed: true },
    { code: 'command-failed', command: text, exitCode: null, signal: 'SIGKILL', detail: '' },
  ],
  'call-idle': [{ code: 'call-idle', what: 'openai', afterMs: 300_000 }],
  'call-ceiling': [{ code: 'call-ceiling', what: 'openai', afterMs: 1_200_000 }],
  'item-timeout': [{ code: 'item-timeout', afterMs: 3_600_000 }],
  'run-timeout': [{ code: 'run-timeout', afterMs: 3_600_000 }],
  'item-stalled': [{ code: 'item-stalled', afterMs: 300_000 }],
  'worker-crashed': [
    { code: 'worker-crashed', exitCode: null, signal: 'SIGKILL', detail: '' },
    { code: 'worker-crashed', exitCode: 1, signal: null, detail: text },
  ],
  'task-missing': [{ code: 'task-missing', module: text, export: text }],
  'task-failed': [{ code: 'task-failed', reason: text, stack: null }],
  halted: [{ code: 'halted', failures: 3, cause: text }],
  'over-budget': [
    { code: 'over-budget', spentUsd: 1.5, limitUsd: 2, scope: 'item' },
    { code: 'over-budget', spentUsd: 1.5, limitUsd: 2, scope: 'run' },
  ],
  'item-cancelled': [{ code: 'item-cancelled', by: text }],
  interrupted: [{ code: 'interrupted', signal: 'SIGINT' }],
  'journal-fenced': [{ code: 'journal-fenced', file: text }],
  'journal-damaged': [{ code: 'journal-damaged', file: text, keptAs: text, reason: text }],
  'journal-newer': [{ code: 'journal-newer', file: text, found: 2, supported: 1 }],
  'journal-full': [{ code: 'journal-full', file: text, reason: text }],
  'journal-unusable': [{ code: 'journal-unusable', file: text, reason: text }],
  'item-locked': [{ code: 'item-locked', id: '1', workflow: 'lld', pid: 1, since: '2026-11-03T14:32:05Z' }],
  'git-failed': [{ code: 'git-failed', command: text, exitCode: 128, detail: text }],
  'output-unwritable': [{ code: 'output-unwritable', path: text, reason: 'ENOSPC' }],
  'disk-unwritable': [{ code: 'disk-unwritable', directory: text, reason: 'ENOSPC' }],
  'demo-folder-taken': [{ code: 'demo-folder-taken', directory: text }],
  untrusted: [{ code: 'untrusted', claims: [text, text], command: 'agentos trust' }],
  'run-missing': [{ code: 'run-missing', run: text }],
  'lld-missing': [{ code: 'lld-missing', id: '1', path: text, near: ['2'] }],
  'lld-changed': [{ code: 'lld-changed', id: '42', path: 'docs/lld/LLD-42.md' }],
  'lld-not-approved': [
    { code: 'lld-not-approved', id: '1', path: text, why: 'edited' },
    { code: 'lld-not-approved', id: '1', path: text, why: 'status' },
    { code: 'lld-not-approved', id: '1', path: text, why: 'issue-changed' },
  ],
  'lld-unreadable': [{ code: 'lld-unreadable', path: text, reason: text }],
  'lld-outdated': [{ code: 'lld-outdated', id: '1', findings: [text] }],
  'git-identity-missing': [{ code: 'git-identity-missing', detail: text }],
  'worktree-unusable': [{ code: 'worktree-unusable', path: text, reason: text }],
  'dependency-conflict': [{ code: 'dependency-conflict', on: '1', files: [text] }],
  'watch-running': [{ code: 'watch-running', pid: 1, since: '2026-01-01T00:00:00.000Z' }],
  'branch-missing': [{ code: 'branch-missing', id: '1' }],
  'pull-request-missing': [{ code: 'pull-request-missing', id: '1' }],
  'pull-request-moved': [{ code: 'pull-request-moved', number: 1, branch: text }],
  'branch-breaks': [{ code: 'branch-breaks', id: '1', others: ['2'], problems: [text] }],
  'landing-incomplete': [
    { code: 'landing-incomplete', out: ['1', '2'], branch: text },
    { code: 'landing-incomplete', out: ['1'], branch: null },
  ],
  'setup-failed': [{ code: 'setup-failed', command: text, exitCode: null, detail: text }],
  'tests-undetected': [
    { code: 'tests-undetected', directory: text, script: text, runner: null },
    { code: 'tests-undetected', directory: text, script: null, runner: 'jest' },
    { code: 'tests-undetected', directory: text, script: null, runner: null },
  ],
  'tests-cannot-run': [{ code: 'tests-cannot-run', command: text, detail: text }],
  'agent-unmetered': [{ code: 'agent-unmetered', agent: 'codex' }],
  'agent-missing': [{ code: 'agent-missing', agent: 'codex', program: text, install: text }],
  'agent-failed': [
    { code: 'agent-failed', agent: 'codex', exitCode: 1, signal: null, detail: text },
    { code: 'agent-failed', agent: 'codex', exitCode: null, signal: null, detail: '' },
  ],
  'agent-rounds': [{ code: 'agent-rounds', agent: 'codex', rounds: 40 }],
  'changed-outside': [{ code: 'changed-outside', files: [text], worktree: text }],
  'gate-failed': [{ code: 'gate-failed', gate: 'red', problems: [text], worktree: text, branch: text }],
  'offline-no-code': [
    { code: 'offline-no-code', id: '1', why: 'not-recorded', file: null },
    { code: 'offline-no-code', id: '1', why: 'changed', file: text },
  ],
  'offline-no-reply': [{ code: 'offline-no-reply', step: text }],
  'log-missing': [
    { code: 'log-missing', id: text },
    { code: 'log-missing', id: text, of: 'agent' },
  ],
  'not-waiting': [
    { code: 'not-waiting', id: '1', last: null },
    { code: 'not-waiting', id: '1', last: lastRun('discuss', text, null) },
    { code: 'not-waiting', id: '1', last: lastRun('failed', null, text) },
  ],
  'decision-refused': (['changed', 'checks', 'questions', 'recorded', 'kept'] as const).map((why) => ({
    code: 'decision-refused',
    id: '1',
    workflow: 'lld',
    why,
    detail: text,
  })),
  'host-token-missing': [
    { code: 'host-token-missing', host: 'github' },
    { code: 'host-token-missing', host: 'gitlab' },
  ],
  'host-token-unusable': [{ code: 'host-token-unusable', host: 'github', reason: text }],
  'host-token-rejected': [{ code: 'host-token-rejected', host: 'github', detail: text }],
  'host-scope-missing': [
    { code: 'host-scope-missing', host: 'github', what: `comment on ${text}`, needs: [], detail: text },
    { code: 'host-scope-missing', host: 'gitlab', what: text, needs: [text, text], detail: text },
  ],
  'host-not-found': [{ code: 'host-not-found', host: 'github', what: text }],
  'host-archived': [{ code: 'host-archived', host: 'github', repository: text }],
  'host-limited': [
    { code: 'host-limited', host: 'github', forMs: null, detail: text },
    { code: 'host-limited', host: 'github', forMs: 5_000, detail: text },
  ],
  'host-unreachable': [{ code: 'host-unreachable', host: 'github', status: 502, detail: text }],
  'host-uncertain': [{ code: 'host-uncertain', host: 'github', what: text, detail: text }],
  'host-refused': [{ code: 'host-refused', host: 'github', what: text, status: 422, detail: text }],
  'repository-unnamed': [
    { code: 'repository-unnamed', host: 'github', origin: null },
    { code: 'repository-unnamed', host: null, origin: text },
  ],
  'issue-not-taken': (
    ['closed', 'locked', 'pull-request', 'deleted', 'transferred', 'unlabelled', 'withheld'] as const
  ).map((why) => ({ code: 'issue-not-taken', id: '1', where: text, why })),
  'issue-blocked': [
    { code: 'issue-blocked', id: '1', by: [], count: 2 },
    { code: 'issue-blocked', id: '1', by: [text], count: 1 },
  ],
  'branch-foreign': [{ code: 'branch-foreign', branch: text, remote: text }],
  internal: [{ code: 'internal', detail: text }],
});

function lastRun(status: string, reason: string | null, step: string | null): LastRun {
  return { runId: 'run-1', workflow: 'lld', status, reason, step };
}

const sentencesIn = (text: string): number => text.split(/(?<=[.?!]) (?=[A-Z])/).length;

test.each(Object.values(problemsWith(NASTY)).flat())(
  '$code is one line of plain text, whatever the facts hold',
  (problem) => {
    const { message, hint } = wordingOf(problem);
    expect(`${message}${hint ?? ''}`).not.toMatch(/[\p{Cc}\u2028\u2029]/u);
  },
);

test.each(Object.values(problemsWith('the text')).flat())(
  '$code is said in at most two short sentences, and so is what to do',
  (problem) => {
    const { message, hint } = wordingOf(problem);
    expect(message).toMatch(/^\S.{4,160}[.?!…]$/);
    expect(message).not.toMatch(/undefined|null|\[object|[.:] ?\.$|  /);
    expect(sentencesIn(message)).toBeLessThanOrEqual(2);
    expect(hint ?? 'x').toMatch(/^\S.{0,200}$/);
    expect(sentencesIn(hint ?? '')).toBeLessThanOrEqual(2);
  },
);

test('a code of the operating system is put into words, another reason is taken as it is', () => {
  const unwritable = (reason: string): string => wordingOf({ code: 'output-unwritable', path: '/x', reason }).message;
  expect(unwritable('ENOSPC')).toBe('/x could not be written: the disk is full.');
  expect(unwritable('a strange thing')).toBe('/x could not be written: a strange thing.');
  const prompt = (reason: string): string => wordingOf({ code: 'prompt-invalid', file: 'p.md', reason }).message;
  expect(prompt('EISDIR')).toBe("p.md can't be read: it is a folder.");
  expect(prompt('is empty')).toBe('p.md is empty.');
});

test('missing keys are named all at once, each with its variables and the flag for another model', () => {
  const google = { provider: 'google', variables: ['GEMINI_API_KEY', 'GEMINI_API_KEYS'], roles: ['reviewer'] };
  const openai = { provider: 'openai', variables: ['OPENAI_API_KEY'], roles: ['drafter', 'implementer'] };
  const both = wordingOf({ code: 'key-missing', missing: [openai, google] });
  expect(both.message).toBe('There is no key for openai (drafter and implementer) or google (reviewer).');
  expect(both.hint).toBe(
    'Set OPENAI_API_KEY, and GEMINI_API_KEY or GEMINI_API_KEYS, or choose another model with --drafter, --implementer, --reviewer.',
  );
  const { message, hint } = wordingOf({ code: 'key-missing', missing: [google] });
  expect(message).toBe('There is no key for google (reviewer).');
  expect(hint).toBe('Set GEMINI_API_KEY or GEMINI_API_KEYS, or choose another model with --reviewer.');
});

test('the name of the model is suspected only where the vendor does not find it', () => {
  const hint = (status: number): string | null =>
    wordingOf({ code: 'provider-refused-request', provider: 'openai', status, detail: 'no' }).hint;
  expect(hint(404)).toBe('Check the name of the model.');
  expect(hint(400)).toBe('Fix what it names, or choose another model.');
});

test('a mistake in the configuration is told as file:line', () => {
  const problem = {
    code: 'config-invalid',
    file: 'agentos.yaml',
    path: 'bounds.x',
    reason: 'is not a setting',
  } as const;
  expect(wordingOf({ ...problem, line: 7 }).message).toBe('agentos.yaml:7: bounds.x is not a setting.');
  expect(wordingOf({ ...problem, line: null }).message).toBe('agentos.yaml: bounds.x is not a setting.');
});

test('an id that is not one is shown shortened and escaped', () => {
  expect(wordingOf({ code: 'bad-id', id: '../\n' }).message).toBe('"../\\n" is not a valid id.');
  expect(wordingOf({ code: 'bad-id', id: 'x'.repeat(10_000) }).message.length).toBeLessThan(160);
});
