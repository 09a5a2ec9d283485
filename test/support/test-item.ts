import { systemClock } from '../../src/core/clock.ts';
import { parseItemId } from '../../src/core/ids.ts';
import { pathsOf } from '../../src/core/paths.ts';
import { createPrompts } from '../../src/prompts/prompts.ts';
import { createItem, type ItemContext, type ItemParts } from '../../src/workflow/item.ts';

/** An item as a workflow gets it; what a test doesn't give is harmless, and models can't be asked. */
export function testItem(parts: Partial<ItemParts> & Pick<ItemParts, 'journal'>): ItemContext {
  return createItem({
    workflow: 'lld',
    id: parseItemId('42'),
    title: 'Add',
    hash: 'a'.repeat(64),
    paths: pathsOf('/repository', '/repository/.agentos'),
    prompts: createPrompts(new Map()),
    provider: (role) => {
      throw new Error(`this test has no ${role}`);
    },
    explore: null,
    costOf: () => 0,
    maxRounds: 3,
    clock: systemClock,
    signal: new AbortController().signal,
    emit: () => undefined,
    onProgress: () => undefined,
    mask: (text) => text,
    checkout: { checked: (step) => step(), before: (work) => work(), check: async () => undefined },
    reading: { use: () => Promise.reject(new Error('this test has no program')) },
    ...parts,
  });
}
