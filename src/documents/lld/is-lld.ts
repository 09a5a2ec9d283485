import { normaliseText, parseMarkdown, plainText } from '../markdown.ts';
import { readTitle } from './section-titles.ts';
import { LLD_SECTIONS, sectionId } from './sections.ts';

/** Titles that other documents have as well, and that therefore count for less. */
const COMMON = new Set(
  ['Requirements', 'Dependencies', 'Diagram', 'Data Structures'].map((title) => readTitle(title).key),
);
const DISTINCTIVE = new Set(LLD_SECTIONS.map(({ title }) => readTitle(title).key).filter((key) => !COMMON.has(key)));
const REVIEW_HEADING =
  /^\W*(?:identity confirmation|pre-?flight gate|review summary|open questions resolved|requirement coverage analysis|tier [123]\b|questions for orchestrator|(?:governance )?verdict)/i;

/** Whether a Markdown text is meant to be an LLD, however broken; a review of one, or a README, is not. */
export function isLld(text: string): boolean {
  const headings = parseMarkdown(normaliseText(text)).children.filter((node) => node.type === 'heading');
  const titles = headings.map((heading) => plainText(heading));
  if (/\b(?:LLD|design) review\b|\bverdict\b/i.test(titles[0] ?? '')) return false;
  const parts = titles.map((title) => readTitle(title));
  const distinct = new Set(parts.filter(({ key }) => DISTINCTIVE.has(key)).map(({ key }) => key)).size;
  const numbered = new Set(
    parts
      .filter(({ number, key }) => !DISTINCTIVE.has(key) && number !== null && sectionId(number, key) === number)
      .map(({ number }) => number),
  ).size;
  const review = new Set(titles.flatMap((title) => REVIEW_HEADING.exec(title)?.[0].toLowerCase() ?? [])).size;
  const score = distinct + numbered * 0.75 + (/^\W*(?:LLD\W*)?#?\d+\s*[-–—:]/i.test(titles[0] ?? '') ? 1 : 0);
  return score >= 3 && score > review;
}
