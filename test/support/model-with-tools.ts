import { review } from './models.ts';
import type { Answer, VendorOptions } from './vendor/index.ts';

const TESTS = `import assert from 'node:assert/strict';
import { test } from 'node:test';
import { item42 } from '../src/item-42.js';

test('010 adds the number', () => assert.equal(item42(1), 43));
test('020 refuses text', () => assert.throws(() => item42('x'), TypeError));
`;
export const CODE = `export function item42(value) {
  if (typeof value !== 'number') throw new TypeError('not a number');
  return value + 42;
}
`;
export const MODELS_WITH_TOOLS = [
  '--implementer',
  'anthropic:claude-opus-5',
  '--reviewer',
  'google:gemini-3-pro-preview',
];

export type Call = Parameters<NonNullable<VendorOptions['script']>>[0];

/** A model with tools, as it would go about it: looks, reads, writes, says that it is done. */
export function modelWithTools(call: Call): Answer {
  if (/review implementations|code review|review the change|reviews? code/i.test(call.system))
    return { text: review({ verdict: 'APPROVED' }) };
  const isTests = /^Write the tests for issue/m.test(call.text);
  const deeds: Answer[] = [
    { toolCalls: [{ name: 'list', input: {} }] },
    { toolCalls: [{ name: 'read', input: { path: 'src/main.js' } }] },
    {
      toolCalls: [
        {
          name: 'write',
          input: isTests ? { path: 'test/item-42.test.js', content: TESTS } : { path: 'src/item-42.js', content: CODE },
        },
      ],
    },
  ];
  return deeds[call.toolResults.length] ?? { text: 'Done.' };
}
