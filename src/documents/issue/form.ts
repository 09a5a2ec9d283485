import { type DocumentForm, documentForm } from '../document-form.ts';

/** How an issue is recognised in a reply. Any heading may be its title: only the place above the sections tells. */
export const ISSUE_FORM: DocumentForm = documentForm({
  name: 'an issue',
  sections: [
    'User Story',
    'Objective',
    'Scenarios of Use',
    'Requirements',
    'Acceptance Criteria',
    'Out of Scope',
    'Definition of Done',
    'Open Questions',
    'Review Log',
  ],
  entrySections: ['Scenarios of Use', 'Requirements', 'Acceptance Criteria'],
  aliases: [
    ['User Story', /\b(?:user )?stor(?:y|ies)\b/i],
    ['Objective', /\b(?:objectives?|goals?)\b/i],
    ['Scenarios of Use', /\bscenarios?\b|\buse cases?\b|\bS\d{1,2}\b/i],
    ['Requirements', /\brequirements?\b|\bREQ-?\d+\b|\bR\d{1,2}\b/i],
    ['Acceptance Criteria', /\bcriteri(?:a|on)\b|\bAC-?\d{1,2}\b/i],
    ['Out of Scope', /\bscope\b|\bnon-goals?\b/i],
    ['Definition of Done', /\bdefinition of done\b|\bDoD\b/],
    ['Open Questions', /\bopen questions?\b/i],
    ['Review Log', /\breview log\b/i],
  ],
  lastNumber: 8,
  isTitle: () => false,
});
