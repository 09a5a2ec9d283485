import { AgentosError } from '../core/errors.ts';
import { NO_USAGE } from '../core/money.ts';
import type { Provider } from '../models/port.ts';
import { recordedReply } from './tour.ts';

const SPEC = 'offline';

/** Plays the recorded tour: no model, no network, no key. What was never recorded is an error, never a reply. */
export function createOfflineProvider(): Provider {
  return {
    spec: SPEC,
    isModel: false,
    async complete({ parts, stepId, signal, onProgress }) {
      signal.throwIfAborted();
      const step = stepId.split('#')[0] ?? '';
      const text = recordedReply(step, parts);
      if (text === null) throw new AgentosError({ code: 'offline-no-reply', step });
      onProgress?.({ outputChars: text.length });
      return { text, asked: SPEC, answered: SPEC, substituted: false, usage: NO_USAGE, metered: true };
    },
  };
}
