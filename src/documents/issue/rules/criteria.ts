import type { DocumentFinding } from '../../document-finding.ts';
import { error, quote } from '../../lld/rules/rule.ts';
import { isVague } from '../../lld/rules/vague-phrases.ts';
import type { IssueDocument } from '../document.ts';

export function checkCriteria({ criteria }: IssueDocument): DocumentFinding[] {
  return criteria
    .filter(({ text }) => isVague(text, ''))
    .map(({ label, text, line }) => {
      const what = text === '' ? 'says nothing' : `${quote(text)} cannot be checked by a program`;
      return error(
        'criterion-vague',
        line,
        `${label} ${what}: name the value, message, state or exit code that decides.`,
      );
    });
}
