import { AgentosError } from '../core/errors.ts';
import type { StepStore, StoredStep } from '../journal/stored.ts';
import type { JournalAnswer, JournalRequest } from './protocol.ts';

/** The steps of the item, which the parent keeps. */
export function parentStore(ask: (request: JournalRequest) => Promise<JournalAnswer>): StepStore {
  const asked = async (request: JournalRequest): Promise<StoredStep[]> => {
    const answer = await ask(request);
    if ('steps' in answer) return answer.steps;
    throw new AgentosError(answer.error.problem, { retry: answer.error.retry });
  };
  return {
    location: 'the journal of the item',
    open: () => asked({ do: 'open' }),
    put: async (step) => void (await asked({ do: 'put', step })),
    remove: async () => void (await asked({ do: 'remove' })),
  };
}

/** The parent's side: an operation on the store, and what to answer. */
export async function answerFrom(store: StepStore, request: JournalRequest): Promise<StoredStep[]> {
  switch (request.do) {
    case 'open':
      return store.open();
    case 'put':
      await store.put(request.step);
      return [];
    case 'remove':
      await store.remove();
      return [];
  }
}
