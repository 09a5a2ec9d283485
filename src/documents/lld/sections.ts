import { normaliseText, parseMarkdown, plainText } from '../markdown.ts';
import { type SectionName, sectionId, sectionName } from '../sections.ts';
import { readTitle } from '../words.ts';

/** Id, title, and the words of which one is enough if the heading has the right number. */
const SECTIONS: [id: string, title: string, words: string][] = [
  ['1', 'Context & Goal', 'context|goal|background|objective|overview'],
  ['2', 'Proposed Changes', 'propos\\w*|change|solution|design|implementation'],
  ['2.1', 'Files Changed', 'file|path'],
  ['2.2', 'Dependencies', 'dependency|package|librar\\w+'],
  ['2.3', 'Data Structures', 'data|struct\\w*|model|type|schema'],
  ['2.4', 'Function Signatures', 'signature|function|interface|api|method'],
  ['2.5', 'Logic Flow', 'logic|flow|algorithm|pseudo\\w*'],
  ['2.6', 'Technical Approach', 'approach|technical|implementation'],
  ['2.7', 'Architecture Decisions', 'decision|architect\\w*'],
  ['3', 'Requirements', 'requirement|acceptance'],
  ['4', 'Alternatives Considered', 'alternative|option'],
  ['5', 'Data & Fixtures', 'data|fixture'],
  ['6', 'Diagram', 'diagram|mermaid'],
  ['7', 'Security & Safety Considerations', 'security|safety'],
  ['8', 'Performance & Cost Considerations', 'performance|cost|budget'],
  ['9', 'Legal & Compliance', 'legal|complian\\w*|licen\\w*'],
  ['10', 'Verification & Testing', 'verif\\w*|test\\w*'],
  ['11', 'Risks & Mitigations', 'risk|mitigation'],
  ['12', 'Definition of Done', 'done|dod'],
];

/** Other titles that identify a section without its number. */
const ALONE: Record<string, RegExp> = {
  '1': /^(?:context|background|overview|goal)$/,
  '2.1': /^(?:file|(?:changed|affected|modified) file|file (?:modified|affected))$/,
  '2.2': /^(?:new |external )?dependency(?: change)?$/,
  '3': /^(?:functional |testable )?requirement$/,
  '6': /^(?:\w+ )?diagram$/,
  '7': /^security(?: safety)?$|^safety(?: security)?$/,
  '8': /^performance(?: cost)?$|^cost performance$/,
  '9': /^legal$|^compliance(?: legal)?$/,
  '10': /^(?:verification|testing|test)(?: (?:plan|strategy|verification|testing|scenario))?$/,
  '11': /^risk$/,
  '12': /^dod$/,
};

export const LLD_SECTIONS: SectionName[] = [
  ...SECTIONS.map(([id, title, words]) =>
    sectionName(id, title, ALONE[id] ?? null, { hint: new RegExp(`\\b(?:${words})\\b`) }),
  ),
  sectionName('log', 'Review Log', /^review history$/, { missing: 'warning' }),
];

/** Titles that other kinds of documents have too. */
const COMMON = new Set(['Requirements', 'Dependencies', 'Diagram', 'Data Structures']);
const DISTINCTIVE = new Set(LLD_SECTIONS.filter(({ title }) => !COMMON.has(title)).map(({ key }) => key));
const REVIEW_HEADING =
  /^\W*(?:identity confirmation|pre-?flight gate|review summary|open questions resolved|requirement coverage analysis|tier [123]\b|questions for orchestrator|(?:governance )?verdict)/i;

/**
 * Whether a text is meant to be an LLD, however broken, and not a review or a README. The sections decide, because the title of
 * a design may speak of reviews and verdicts.
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
