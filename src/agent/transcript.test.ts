import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openTranscript, readTranscript, transcriptFiles, transcriptLines } from './transcript.ts';

const startOf = (agent: string) => ({ type: 'agentos-start', step: 'code-1', agent, at: 'now' });

test('Claude Code: what it said, wrote and ran, and what came back', async () => {
  const lines = await transcriptLines([
    { type: 'agentos-start', step: 'code-1', agent: 'claude-code', at: '2026-11-16T06:00:00.000Z' },
    { type: 'system', subtype: 'init' },
    {
      type: 'assistant',
      message: {
        content: [
          { type: 'text', text: 'I write it.' },
          { type: 'tool_use', name: 'Write', input: { file_path: 'a.ts', content: 'one\ntwo\n' } },
        ],
      },
    },
    { type: 'user', message: { content: [{ type: 'tool_result', content: [{ type: 'text', text: 'Written.' }] }] } },
    { type: 'assistant', message: { content: [{ type: 'tool_use', name: 'Bash', input: { command: 'npm test' } }] } },
    { type: 'user', message: { content: [{ type: 'tool_result', content: '1 failed', is_error: true }] } },
    { type: 'agentos-line', stream: 'stderr', text: 'a warning' },
    { type: 'agentos-end', exitCode: null, signal: 'SIGKILL' },
  ]);
  expect(lines).toEqual([
    '== code-1 by claude-code, 2026-11-16T06:00:00.000Z',
    'I write it.',
    '> Write a.ts',
    '  | one',
    '  | two',
    '  < Written.',
    '> Bash npm test',
    '  < ! 1 failed',
    'a warning',
    '== ended with SIGKILL',
  ]);
});

test('Codex: a command with its output, changed files, a failure', async () => {
  const command = { type: 'command_execution', command: 'ls', aggregated_output: 'a\nb\n', exit_code: 0 };
  const [, ...lines] = await transcriptLines([
    startOf('codex'),
    { type: 'item.started', item: { ...command, aggregated_output: '' } },
    { type: 'item.completed', item: command },
    { type: 'item.completed', item: { type: 'file_change', changes: [{ path: 'a', kind: 'add' }] } },
    { type: 'item.completed', item: { type: 'agent_message', text: 'Done.' } },
    { type: 'turn.failed', error: { message: 'no more' } },
  ]);
  expect(lines).toEqual(['> exec ls', '  < a', '  < b', '> add a', 'Done.', '! no more']);
});

test('Gemini CLI: text in pieces is put together', async () => {
  const [, ...lines] = await transcriptLines([
    startOf('gemini-cli:gemini-3'),
    { type: 'message', role: 'user', content: 'The task' },
    { type: 'message', role: 'assistant', content: 'I re', delta: true },
    { type: 'message', role: 'assistant', content: 'ad it.', delta: true },
    { type: 'tool_use', tool_name: 'read_file', parameters: { file_path: 'a.ts' } },
    { type: 'tool_result', status: 'error', error: { message: 'not there' } },
    { type: 'message', role: 'assistant', content: 'The end.', delta: true },
  ]);
  expect(lines).toEqual(['I read it.', '> read_file a.ts', '  < ! not there', 'The end.']);
});

test('opencode: as the real program wrote it', async () => {
  const file = new URL('../../test/fixtures/agents/opencode-done.jsonl', import.meta.url);
  const events = readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  const failed = { type: 'error', error: { name: 'UnknownError', data: { message: 'no quota' } } };
  const [, ...lines] = await transcriptLines([startOf('opencode'), ...events, failed]);
  expect(lines).toEqual([
    'On with it.',
    '> write /worktree/new.txt',
    '  | hello',
    '  < Wrote file successfully.',
    'Next.',
    '> bash ls',
    '  < a.txt',
    '  < new.txt',
    'Done, all of it.',
    '! no quota',
  ]);
});

test('an ACP agent: text in pieces, a call with what came back, one that failed', async () => {
  const update = (body: object) => ({ jsonrpc: '2.0', method: 'session/update', params: { update: body } });
  const chunk = (text: string) => update({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } });
  const call = (toolCallId: string, more: object) => update({ sessionUpdate: 'tool_call_update', toolCallId, ...more });
  const content = [{ type: 'content', content: { type: 'text', text: 'two lines\nof it' } }];
  const [, ...lines] = await transcriptLines([
    startOf('acp:agent --acp'),
    { jsonrpc: '2.0', id: 1, result: { sessionId: 's' } },
    chunk('I re'),
    chunk('ad it.'),
    update({ sessionUpdate: 'tool_call', toolCallId: '1', title: 'read', locations: [{ path: 'src/a.ts' }] }),
    call('1', { status: 'completed', content }),
    call('2', { title: 'Shell', rawInput: { command: 'npm test' }, status: 'failed' }),
    chunk('The end.'),
    { jsonrpc: '2.0', id: 2, result: { stopReason: 'end_turn' } },
  ]);
  expect(lines).toEqual([
    'I read it.',
    '> read src/a.ts',
    '  < two lines',
    '  < of it',
    '> Shell npm test',
    'The end.',
  ]);
});

test('an ACP agent’s events, which have no type, are read from the file of its transcript', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'agentos-transcript-'));
  try {
    const transcript = openTranscript(folder, (text) => text, { step: 'draft', agent: 'acp:agent' });
    const update = { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: 'I read it.' } };
    transcript.add(JSON.stringify({ jsonrpc: '2.0', method: 'session/update', params: { update } }));
    transcript.close();
    const [file = ''] = transcriptFiles(folder);
    expect(await transcriptLines(await readTranscript(file))).toContain('I read it.');
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('the built-in agent: its rounds; a long result is cut', async () => {
  const text = Array.from({ length: 50 }, (_, index) => `line ${index}`).join('\n');
  const lines = await transcriptLines([
    { type: 'agentos-answer', round: 1, text: 'Look.', calls: [{ name: 'read', input: '{"path":"a.ts"}' }] },
    { type: 'agentos-result', name: 'read', ok: true, text },
  ]);
  expect(lines.slice(0, 3)).toEqual(['Look.', '> read a.ts', '  < line 0']);
  expect(lines.at(-1)).toBe('  < … 10 more lines');
});
