import { issueOf, review, roundOf, taskOf } from '../../test/support/models.ts';
import type { VendorOptions } from '../../test/support/vendor/index.ts';
import { largeLld, largeReview } from './documents.ts';

type Script = NonNullable<VendorOptions['script']>;

/** Documents of about this size, streamed over seconds: a draft, a REVISE, the revised draft, an approval. */
export function twoRounds(chars: number, chunkDelayMs: number): Script {
  const answerTo = (call: Parameters<Script>[0]): string => {
    const draft = largeLld(issueOf(call), chars);
    switch (taskOf(call)) {
      case 'draft':
      case 'repair':
        return draft;
      case 'revise':
        return draft.replace('A pure function, no state.', 'A pure function without state, as the review asked.');
      case 'review':
        return roundOf(call) === 1 ? largeReview(chars) : review({ verdict: 'APPROVED' });
    }
  };
  return (call) => ({ text: answerTo(call), latencyMs: 200, chunkDelayMs });
}
