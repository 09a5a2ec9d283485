import type { Provider } from './port.ts';

/** A vendor that echoes a key must not get it into a checkpoint or a document: replies are masked before anyone sees them. */
export function masked(provider: Provider, mask: (text: string) => string): Provider {
  return {
    spec: provider.spec,
    isModel: provider.isModel,
    async complete(request) {
      const reply = await provider.complete(request);
      return { ...reply, text: mask(reply.text), answered: reply.answered === null ? null : mask(reply.answered) };
    },
  };
}
