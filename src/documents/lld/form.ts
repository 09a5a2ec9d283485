import { type DocumentForm, documentForm } from '../document-form.ts';

const FEATURE_TITLE = /^\W*(?:issue\s+)?#?[\w-]+\]?\s*[-–—:]+\s*feature\b/i;
const LLD_TITLE = new RegExp(`${FEATURE_TITLE.source}|^\\W*(?:LLD|low[- ]level design)\\b(?!\\s+review)`, 'i');

/** The sections of an LLD as the template names them. */
export const LLD_FORM: DocumentForm = documentForm({
  name: 'an LLD',
  sections: [
    'Context & Goal',
    'Open Questions',
    'Proposed Changes',
    'Files Changed',
    'Dependencies',
    'Data Structures',
    'Function Signatures',
    'Logic Flow',
    'Technical Approach',
    'Architecture Decisions',
    'Requirements',
    'Alternatives Considered',
    'Data & Fixtures',
    'Diagram',
    'Security & Safety Considerations',
    'Performance & Cost Considerations',
    'Legal & Compliance',
    'Verification & Testing',
    'Risks & Mitigations',
    'Definition of Done',
    'Review Log',
  ],
  entrySections: ['Requirements', 'Verification & Testing'],
  lastNumber: 12,
  isTitle: ({ level, text }) => (level === 1 && LLD_TITLE.test(text)) || (level === 2 && FEATURE_TITLE.test(text)),
  // Single words that fit any finding (security, cost, function) are left out on purpose: they would name a section that
  // nobody meant to give up.
  aliases: [
    ['Context & Goal', /\b(?:objective|goals?|issue (?:link|number|field|reference)|related issues?|#?TBD)\b/i],
    ['Open Questions', /\bopen questions?\b/i],
    [
      'Files Changed',
      /\bfiles? (?:changed |change )?(?:table|list|section)\b|\b(?:list|table) of files\b|\bfile paths?\b/i,
    ],
    ['Dependencies', /\bdependenc(?:y|ies)\b/i],
    ['Data Structures', /\bdata (?:structures?|models?|types?)\b|\bschemas?\b|\btype definitions?\b/i],
    ['Function Signatures', /\bsignatures?\b/i],
    ['Logic Flow', /\blogic(?:al)? flow\b|\bpseudo-?code\b|\bflow steps?\b|\bstep \d+\b/i],
    ['Technical Approach', /\btechnical approach\b/i],
    ['Architecture Decisions', /\b(?:architect\w+|design) decisions?\b|\bdecisions? table\b/i],
    ['Requirements', /\brequirements?\b|\bREQ-?\d+\b|\bR\d+\b/i],
    ['Alternatives Considered', /\balternatives\b|\balternative (?:approach|option|design)s?\b/i],
    ['Data & Fixtures', /\bfixtures?\b|\btest data\b/i],
    ['Diagram', /\bdiagrams?\b|\bmermaid\b|\bflowcharts?\b/i],
    [
      'Security & Safety Considerations',
      /\b(?:security|safety) (?:section|considerations?)\b|\bfail(?:ure)? mode\b|\bthreat model\b/i,
    ],
    [
      'Performance & Cost Considerations',
      /\b(?:performance|cost) (?:section|considerations?|budgets?)\b|\bbudgets?\b/i,
    ],
    [
      'Legal & Compliance',
      /\b(?:legal|compliance) (?:section|considerations?)\b|\blicen[cs](?:e|es|ing)\b|\bGDPR\b|\bpersonal data\b/i,
    ],
    [
      'Verification & Testing',
      /\btest (?:plan|suite|scenario|case|table|scope|section|coverage|strategy)s?\b|\bscenarios?\b|\bpass criteri(?:a|on)\b|\bT(?:est )?\d{3}\b|\bverification\b|\btesting\b/i,
    ],
    ['Risks & Mitigations', /\bmitigations?\b|\brisks? (?:table|section|register)\b/i],
    ['Definition of Done', /\bdefinition of done\b|\bDoD\b/],
    ['Review Log', /\breview log\b/i],
  ],
});
