import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AgentosError } from './errors.ts';
import { parseModelSpec, sameModel } from './model-spec.ts';

function reasonOf(text: string): string {
  try {
    parseModelSpec(text);
  } catch (error) {
    if (error instanceof AgentosError && error.problem.code === 'model-spec-invalid') return error.problem.reason;
    throw error;
  }
  throw new Error(`${text} was accepted`);
}

function agent(provider: string, vendor: string, model: string | null): object {
  return { provider, vendor, model, command: null, text: model === null ? provider : `${provider}:${model}` };
}

describe('parseModelSpec', () => {
  it.each([
    [
      'anthropic:claude-sonnet-4-5',
      { provider: 'anthropic', model: 'claude-sonnet-4-5', text: 'anthropic:claude-sonnet-4-5' },
    ],
    [
      'google:gemini-3-pro-preview',
      { provider: 'google', model: 'gemini-3-pro-preview', text: 'google:gemini-3-pro-preview' },
    ],
    [' openai: gpt-5 ', { provider: 'openai', model: 'gpt-5', text: 'openai:gpt-5' }],
    [
      'openai-compatible:org/llama:70b',
      { provider: 'openai-compatible', model: 'org/llama:70b', text: 'openai-compatible:org/llama:70b' },
    ],
    [
      'command:./model --x "a: b"',
      { provider: 'command', command: './model --x "a: b"', text: 'command:./model --x "a: b"' },
    ],
    ['offline', { provider: 'offline', text: 'offline' }],
    ['claude-code', agent('claude-code', 'anthropic', null)],
    ['codex: gpt-5', agent('codex', 'openai', 'gpt-5')],
    ['gemini-cli:gemini-3-pro', agent('gemini-cli', 'google', 'gemini-3-pro')],
    ['opencode', agent('opencode', 'anthropic', null)],
    ['opencode:openai/gpt-5', { ...agent('opencode', 'openai', 'gpt-5'), text: 'opencode:openai/gpt-5' }],
    [
      'acp: gemini --acp',
      { provider: 'acp', vendor: null, model: null, command: 'gemini --acp', text: 'acp:gemini --acp' },
    ],
    ['command:./claude-code', { provider: 'command', command: './claude-code', text: 'command:./claude-code' }],
  ])('reads %s', (text, spec) => {
    expect(parseModelSpec(text)).toEqual(spec);
  });

  it.each([
    ['', 'it is empty'],
    ['anthropic', 'write anthropic:<model>'],
    ['anthropic:', 'write anthropic:<model>'],
    ['openai:gpt 5', 'no spaces'],
    ['command:', 'command:<shell command>'],
    ['offline:x', 'offline takes no model'],
    ['codex:', 'the model is missing: write codex or codex:<model>'],
    ['codex:gpt 5', 'the name of a model has no spaces in it'],
    ['gemini-cli:--yolo', 'does not begin with a hyphen'],
    ['opencde', 'did you mean opencode?'],
    ['opencode:gpt-5', 'write opencode:anthropic/<model>'],
    ['opencode:openai/', 'write opencode:anthropic/<model>'],
    ['acp:', 'acp:<shell command>'],
    ['codx', 'did you mean codex?'],
    ['antropic:claude-opus-4-5', 'did you mean anthropic:claude-opus-4-5?'],
    ['anthropic/claude-opus-4-5', 'did you mean anthropic:claude-opus-4-5?'],
    ['claude-opus-4-5', 'did you mean anthropic:claude-opus-4-5?'],
    ['gemini:gemini-3-pro', 'did you mean google:gemini-3-pro?'],
    ['gpt-5', 'did you mean openai:gpt-5?'],
    ['ofline', 'did you mean offline?'],
    ['xyzzy:model', 'xyzzy is unknown; use anthropic:<model>'],
  ])('refuses "%s" and says what to write', (text, expected) => {
    expect(reasonOf(text)).toContain(expected);
  });
});

const SAME: [string, string][] = [
  ['claude-sonnet-4-5', 'claude-sonnet-4-5-20250929'],
  ['claude-sonnet-4-0', 'claude-sonnet-4-20250514'],
  ['claude-sonnet-4.5', 'claude-sonnet-4-5-20250929'],
  ['claude-sonnet-4-5@20250929', 'claude-sonnet-4-5-20250929'],
  ['anthropic/claude-opus-4-5', 'claude-opus-4-5-20251101'],
  ['claude-3-7-sonnet-latest', 'claude-3-7-sonnet-20250219'],
  ['gpt-5', 'gpt-5-2025-08-07'],
  ['gpt-5.1', 'gpt-5.1-2025-11-13'],
  ['gpt-4', 'gpt-4-0613'],
  ['gpt-4', 'gpt-4-1106-preview'],
  ['gemini-3-pro', 'gemini-3-pro-001'],
  ['gemini-3-pro', 'models/gemini-3-pro-preview'],
  ['gemini-2.5-pro', 'gemini-2.5-pro-preview-05-20'],
  ['gemini-2.5-flash', 'gemini-2.5-flash-preview-09-2025'],
  ['GPT-5', 'gpt-5'],
  ['llama3:latest', 'llama3'],
];

const DIFFERENT: [string, string][] = [
  ['gpt-5', 'gpt-5-mini'],
  ['gpt-5', 'gpt-5.1'],
  ['gpt-5-mini', 'gpt-5-nano-2025-08-07'],
  ['gpt-4', 'gpt-4o-2024-08-06'],
  ['gemini-3-pro', 'gemini-3-flash'],
  ['gemini-2.5-flash', 'gemini-2.5-flash-lite-preview-09-2025'],
  ['claude-opus-4-5', 'claude-sonnet-4-5'],
  ['claude-sonnet-4', 'claude-sonnet-4-5'],
  ['claude-sonnet-4', 'claude-sonnet-4-5-20250929'],
  ['claude-sonnet-4-5-20250929', 'claude-sonnet-4-5-20260101'],
  ['gemini-2.5-pro-preview-05-20', 'gemini-2.5-pro-preview-06-05'],
];

describe('sameModel', () => {
  it.each(SAME)('%s and %s are the same model, either way round', (a, b) => {
    expect([sameModel(a, b), sameModel(b, a)]).toEqual([true, true]);
  });

  it.each(DIFFERENT)('%s and %s are different models, either way round', (a, b) => {
    expect([sameModel(a, b), sameModel(b, a)]).toEqual([false, false]);
  });

  it('takes every name for itself and never minds the order', () => {
    const word = fc.constantFrom(
      'gpt',
      'claude',
      'mini',
      'pro',
      '4',
      '5',
      '0',
      'preview',
      'latest',
      '20250929',
      '2025-08-07',
      '001',
    );
    const name = fc.array(word, { minLength: 1, maxLength: 5 }).map((words) => words.join('-'));
    fc.assert(
      fc.property(name, (a) => {
        expect(sameModel(a, a)).toBe(true);
      }),
    );
    fc.assert(
      fc.property(name, name, (a, b) => {
        expect(sameModel(a, b)).toBe(sameModel(b, a));
      }),
    );
  });
});
