import { NO_USAGE } from '../../core/money.ts';
import type { Material } from '../../governance/material.ts';
import type { Provider } from '../port.ts';
import { reviewCodeByRules } from './code-review.ts';
import { draftScaffold } from './draft.ts';
import { draftIssue } from './issue-draft.ts';
import { mendIssue } from './issue-mend.ts';
import { reviewIssueByChecks } from './issue-review.ts';
import { mendDraft } from './mend.ts';
import { reviewByChecks } from './review.ts';
import { recordedReply } from './tour.ts';

const SPEC = 'offline';

/** The embedded model: rules, no network, no key. The same material always gives the same reply. */
export function createOfflineProvider(): Provider {
  return {
    spec: SPEC,
    isModel: false,
    async complete({ material, signal, onProgress }) {
      signal.throwIfAborted();
      const text = recordedReply(material) ?? replyByRules(material);
      onProgress?.({ outputChars: text.length });
      return { text, asked: SPEC, answered: SPEC, substituted: false, usage: NO_USAGE, metered: true };
    },
  };
}

function replyByRules(material: Material): string {
  switch (material.task) {
    case 'draft':
      return draftScaffold(material.issue, material.paths);
    case 'review':
      return reviewByChecks(material);
    case 'code-review':
      return reviewCodeByRules(material);
    case 'issue-draft':
      return draftIssue(material.brief);
    case 'issue-review':
      return reviewIssueByChecks(material);
    case 'issue-repair':
    case 'issue-revise':
      return mendIssue(material.brief, material.draft);
    case 'repair':
    case 'revise':
      return mendDraft(material.issue, material.draft);
  }
}
