import { normaliseText, parseMarkdown, plainText } from '../markdown.ts';
import { type SectionName, sectionId, sectionName } from '../sections.ts';
import { readTitle } from '../titles.ts';

export const LLD_SECTIONS: SectionName[] = [
  sectionName(
    '1',
    'Context & Goal',
    /^(?:(?:context|background|overview)(?: (?:goal|objective|scope))?|goal(?: context)?)$/,
    { hint: /context|goal|background|objective|overview/ },
  ),
  sectionName('2', 'Proposed Changes', /^(?:proposed (?:change|solution|design|implementation)|change)$/, {
    hint: /propos|change|solution|design|implementation/,
  }),
  sectionName(
    '2.1',
    'Files Changed',
    /^(?:file|(?:file|path) (?:to )?(?:be )?(?:changed?|modif\w+|affected|touched|list)|(?:changed|affected|modified) file)$/,
    { hint: /file|path/ },
  ),
  sectionName('2.2', 'Dependencies', /^(?:new |external )?dependency(?: change)?$/, { hint: /depend|package|librar/ }),
  sectionName('2.3', 'Data Structures', /^(?:data (?:structure|model|type|schema)|type|schema)(?: type)?$/, {
    hint: /data|struct|model|type|schema/,
  }),
  sectionName(
    '2.4',
    'Function Signatures',
    /^(?:(?:function|method|api|key|public)? ?signature|(?:public )?(?:api|interface)|function)$/,
    { hint: /signature|function|interface|api|method/ },
  ),
  sectionName('2.5', 'Logic Flow', /^(?:logic(?: flow)?|(?:control |program )?flow|algorithm|pseudocode)$/, {
    hint: /logic|flow|algorithm|pseudo/,
  }),
  sectionName('2.6', 'Technical Approach', /^(?:technical |implementation )?approach$/, {
    hint: /approach|technical|implementation/,
  }),
  sectionName('2.7', 'Architecture Decisions', /^(?:architectur(?:e|al)|design|key|technical)(?: design)? decision$/, {
    hint: /decision|architect/,
  }),
  sectionName('3', 'Requirements', /^(?:functional |testable |acceptance )?requirement$/, {
    hint: /requirement|acceptance/,
  }),
  sectionName('4', 'Alternatives Considered', /^(?:considered )?alternative(?: considered| rejected)?$/, {
    hint: /alternative|option/,
  }),
  sectionName('5', 'Data & Fixtures', /^(?:(?:test )?data(?: test)? fixture|fixture(?: data)?|test data)$/, {
    hint: /data|fixture/,
  }),
  sectionName('6', 'Diagram', /^(?:(?:architecture|sequence|mermaid|flow|system|component|design) )*diagram$/, {
    hint: /diagram|mermaid/,
  }),
  sectionName('7', 'Security & Safety Considerations', /^(?:security safety|safety security|security|safety)$/, {
    hint: /securit|safety/,
  }),
  sectionName(
    '8',
    'Performance & Cost Considerations',
    /^(?:performance cost|cost performance|performance(?: budget)?)$/,
    { hint: /performance|cost|budget/ },
  ),
  sectionName('9', 'Legal & Compliance', /^(?:legal compliance|compliance legal|legal|compliance)$/, {
    hint: /legal|complian|licen/,
  }),
  sectionName(
    '10',
    'Verification & Testing',
    /^(?:verification|testing|test)(?: (?:verification|testing|test|plan|strategy|scenario))*$/,
    { hint: /verif|test/ },
  ),
  sectionName('11', 'Risks & Mitigations', /^risk(?: mitigation)?$/, { hint: /risk|mitigation/ }),
  sectionName('12', 'Definition of Done', /^(?:definition done|dod)$/, { hint: /done|dod/ }),
  sectionName('log', 'Review Log', /^(?:review (?:log|history)|appendix review log)$/, {
    hint: /review log/,
    missing: 'warning',
  }),
];

/** Titles that other documents have as well, and that therefore count for less. */
const COMMON = new Set(['Requirements', 'Dependencies', 'Diagram', 'Data Structures']);
const DISTINCTIVE = new Set(LLD_SECTIONS.filter(({ title }) => !COMMON.has(title)).map(({ key }) => key));
const REVIEW_HEADING =
  /^\W*(?:identity confirmation|pre-?flight gate|review summary|open questions resolved|requirement coverage analysis|tier [123]\b|questions for orchestrator|(?:governance )?verdict)/i;

/**
 * Whether a Markdown text is meant to be an LLD, however broken; a review of one, or a README, is not. The sections
 * decide: a design may be about reviews and verdicts, and be called so.
 */
export function isLld(text: string): boolean {
  const headings = parseMarkdown(normaliseText(text)).children.filter((node) => node.type === 'heading');
  const titles = headings.map((heading) => plainText(heading));
  const parts = titles.map((title) => readTitle(title));
  const distinct = new Set(parts.filter(({ key }) => DISTINCTIVE.has(key)).map(({ key }) => key)).size;
  const numbered = new Set(
    parts
      .filter(
        ({ number, key }) =>
          !DISTINCTIVE.has(key) && number !== null && sectionId(number, key, LLD_SECTIONS) === number,
      )
      .map(({ number }) => number),
  ).size;
  const review = new Set(titles.flatMap((title) => REVIEW_HEADING.exec(title)?.[0].toLowerCase() ?? [])).size;
  const score = distinct + numbered * 0.75 + (/^\W*(?:LLD\W*)?#?\d+\s*[-–—:]/i.test(titles[0] ?? '') ? 1 : 0);
  return score >= 3 && score > review;
}
