import { review } from './models.ts';
import type { Answer, VendorOptions } from './vendor/index.ts';

/** Tests for the issue `id`, in the words of its LLD. */
export const testsOf = (id: string): string => `import assert from 'node:assert/strict';
import { test } from 'node:test';
import { item${id} } from '../src/item-${id}.js';

test('010 adds the number', () => assert.equal(item${id}(1), ${Number(id) + 1}));
test('020 refuses text', () => assert.throws(() => item${id}('x'), TypeError));
`;
export const codeOf = (id: string): string => `export function item${id}(value) {
  if (typeof value !== 'number') throw new TypeError('not a number');
  return value + ${id};
}
`;
export const CODE = codeOf('42');
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
          input: isTests
            ? { path: 'test/item-42.test.js', content: testsOf('42') }
            : { path: 'src/item-42.js', content: CODE },
        },
      ],
    },
  ];
  return deeds[call.toolResults.length] ?? { text: 'Done.' };
}
