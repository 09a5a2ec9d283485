import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { createActionLines, logLinesOf } from '../transcript.ts';
import type { EventReader } from './agent.ts';
import { createClaudeReader } from './claude-code.ts';
import { createCodexReader } from './codex.ts';
import { createGeminiReader } from './gemini-cli.ts';
import { createOpencodeReader } from './opencode.ts';

/** What the real programs wrote against a loopback vendor. */
function recorded(name: string): string[] {
  const file = new URL(`../../../test/fixtures/agents/${name}.jsonl`, import.meta.url);
  return readFileSync(file, 'utf8').trimEnd().split('\n');
}

function follow(reader: EventReader, lines: readonly string[]): string[] {
  const show = createActionLines(logLinesOf);
  const log = lines.flatMap((line) => show(reader.read(JSON.parse(line))));
  return [...log, ...show([{ type: 'text', text: '' }])];
}

describe('Claude Code’s events', () => {
  test('become what it says and does, and its last words', () => {
    const reader = createClaudeReader();
    expect(follow(reader, recorded('claude-code-done'))).toEqual([
      'Step 0',
      'Write hello.txt',
      'Step 1',
      'Bash cat hello.txt nothing.txt',
      'failed: Exit code 1 hi cat: nothing.txt: No such file or directory',
      'All done.',
    ]);
    expect(reader).toMatchObject({ verdict: { is: 'done' }, lastWords: 'All done.' });
  });

  test('tell why it gave up', () => {
    const reader = createClaudeReader();
    expect(follow(reader, recorded('claude-code-failed'))).toContain('asks again: overloaded');
    expect(reader.verdict).toMatchObject({ is: 'failed', why: expect.stringContaining('529 Overloaded') as string });
  });

  test('that end at a bound of its own are no success', () => {
    const reader = createClaudeReader();
    const errors = ['Reached maximum number of turns (1)'];
    reader.read({ type: 'result', subtype: 'error_max_turns', is_error: true, errors });
    expect(reader.verdict).toEqual({ is: 'failed', why: errors[0] });
  });
});

describe('Codex’s events', () => {
  test('become what it says and does, and its last words', () => {
    const reader = createCodexReader();
    expect(follow(reader, recorded('codex-done'))).toEqual([
      'Step 0',
      'add /worktree/hello.txt',
      'Step 1',
      "exec /bin/bash -lc 'cat hello.txt nothing.txt'",
      'failed (1): cat: nothing.txt: No such file or directory',
      'All done.',
    ]);
    expect(reader).toMatchObject({ verdict: { is: 'done' }, lastWords: 'All done.' });
  });

  test('tell why it gave up', () => {
    const reader = createCodexReader();
    const log = follow(reader, recorded('codex-failed'));
    expect(log[0]).toMatch(/^Reconnecting\.\.\. 1\/2 \(unexpected status 402/);
    expect(reader.verdict).toMatchObject({
      is: 'failed',
      why: expect.stringContaining('The budget is used up') as string,
    });
  });
});

describe('Gemini CLI’s events', () => {
  test('become what it says and does, and its last words', () => {
    const reader = createGeminiReader();
    expect(follow(reader, recorded('gemini-cli-done'))).toEqual([
      'Step 0',
      'write_file hello.txt',
      'Step 1',
      'run_shell_command cat hello.txt nothing.txt',
      'Step 2',
      'read_file nothing.txt',
      'failed: File not found: /worktree/nothing.txt',
      'All done.',
    ]);
    expect(reader).toMatchObject({ verdict: { is: 'done' }, lastWords: 'All done.' });
  });

  test('tell why it gave up', () => {
    const reader = createGeminiReader();
    follow(reader, recorded('gemini-cli-failed'));
    expect(reader.verdict).toMatchObject({
      is: 'failed',
      why: expect.stringContaining('The budget is used up') as string,
    });
  });

  test('with text in pieces become whole lines', () => {
    const reader = createGeminiReader();
    const show = createActionLines(logLinesOf);
    const piece = (content: string): string[] =>
      show(reader.read({ type: 'message', role: 'assistant', content, delta: true }));
    expect([piece('First I lo'), piece('ok.\nThen'), piece(' I write.\n\n')]).toEqual([
      [],
      ['First I look.'],
      ['Then I write.'],
    ]);
  });
});

describe('opencode’s events', () => {
  test('become what it says and does, and its last words', () => {
    const reader = createOpencodeReader();
    expect(follow(reader, recorded('opencode-done'))).toEqual([
      'On with it.',
      'write /worktree/new.txt',
      'Next.',
      'bash ls',
      'Done, all of it.',
    ]);
    expect(reader).toMatchObject({ verdict: { is: 'done' }, lastWords: 'Done, all of it.' });
  });

  test('tell why it gave up', () => {
    const reader = createOpencodeReader();
    reader.read({ type: 'error', error: { name: 'UnknownError', data: { message: 'no quota' } } });
    expect(reader.verdict).toEqual({ is: 'failed', why: 'no quota' });
  });
});

describe.each([
  ['Claude Code', createClaudeReader, 'claude-code-done'],
  ['Codex', createCodexReader, 'codex-done'],
  ['Gemini CLI', createGeminiReader, 'gemini-cli-done'],
  ['opencode', createOpencodeReader, 'opencode-done'],
])('%s', (_name, create, recording) => {
  test('has not ended well before it says so', () => {
    const reader = create();
    follow(reader, recorded(recording).slice(0, -1));
    expect(reader.verdict).toBeNull();
  });

  test('may send events of any kind and shape', () => {
    const reader = create();
    const log = follow(reader, [
      '{"type":"hologram","payload":{"a":[1,2]}}',
      '{"type":"assistant"}',
      '{"type":"user","message":null}',
      '{"type":"item.completed"}',
      '{"type":"item.completed","item":{"type":"poem"}}',
      '{"type":"tool_result"}',
      '{"type":"message","role":"assistant"}',
      '{"type":7}',
      '{"type":"constructor"}',
      '{}',
    ]);
    expect(log).toEqual([]);
    expect(reader.verdict).toBeNull();
  });
});
