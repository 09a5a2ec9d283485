import { parseMarkdown, plainText } from '../../markdown/markdown.ts';
import { readTitle } from '../../markdown/words.ts';
import { bareDocument, type SectionName, sectionId, sectionName } from '../sections.ts';

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

export const LLD_SECTIONS: SectionName[] = [
  ...SECTIONS.map(([id, title, words]) => sectionName(id, title, null, { hint: new RegExp(`\\b(?:${words})\\b`) })),
  sectionName('log', 'Review Log', /^review history$/, { missing: 'warning' }),
];

/** Titles that other kinds of documents have too; without the number they tell nothing. */
const COMMON = /^(?:requirement|dependency|diagram|data structure)$/;
const REVIEW_HEADING =
  /^\W*(?:identity confirmation|pre-?flight gate|review summary|open questions resolved|requirement coverage analysis|tier [123]\b|questions for orchestrator|(?:governance )?verdict)/i;

/**
 * Whether a text is meant to be an LLD, however broken, and not a review or a README. The sections decide, because the title of
 * a design may speak of reviews and verdicts.
 */
export function isLld(text: string): boolean {
  const headings = parseMarkdown(bareDocument(text, LLD_SECTIONS)).children.filter((node) => node.type === 'heading');
  const titles = headings.map((heading) => plainText(heading));
  const found = titles.map(readTitle).flatMap(({ number, key }) => {
    const id = sectionId(number, key, LLD_SECTIONS);
    return id === null || (id !== number && COMMON.test(key)) ? [] : [id];
  });
  const review = new Set(titles.flatMap((title) => REVIEW_HEADING.exec(title)?.[0].toLowerCase() ?? [])).size;
  const [title = ''] = titles;
  const isNamed = /^\W*(?:LLD|low[- ]level design)[\s-]*(?:#?\d|[:–—])(?!.*\b(?:review|verdict)\b)/i.test(title);
  const sections = new Set(found).size;
  return (isNamed || sections >= 3) && sections + (isNamed ? 3 : 0) > review;
}
