import type { List, ListItem, Paragraph, RootContent } from 'mdast';
import { flatText } from '../../governance/lld/marked-text.ts';
import { OPEN_QUESTIONS_KEY, readTitle } from '../../governance/lld/section-titles.ts';
import { normaliseText, parseMarkdown, plainText } from '../../governance/markdown.ts';
import type { IssueMaterial } from '../../governance/material.ts';

/** What the rules of the embedded model find in an issue. Inline code keeps its backticks, all else is plain text. */
export interface IssueReading {
  objective: string;
  /** Never empty: the title stands in when there is nothing else. */
  criteria: string[];
  /** How many more criteria the issue has than fit into one design. */
  criteriaLeftOut: number;
  questions: string[];
}

const MOST_CRITERIA = 40;
const MOST_QUESTIONS = 20;
const CRITERIA_TITLE = /\b(?:acceptance|criteria|criterion|requirement|checklist|what to build)\b/;
/** Stands in for criteria where there are none; beside them it says what else belongs to a piece of work. */
const DONE_TITLE = /\b(?:definition (?:of )?done|done when)\b/;
const NONE = /^\W*(?:none|n\/?a|nothing|no (?:open )?questions?)?\W*$/i;
/** `AC1:` and the like would be taken for the number of a requirement; the document numbers its own. */
const LABEL = /^\W*(?:requirement|req|fr|nfr|ac|r)[\s._-]*\d{1,4}(?:\.(?!\d)|[\s):\]*–—-])+\s*/i;
/** `(S1, R2)` behind a criterion means scenarios and requirements of the issue; the document has its own. */
const REFERENCES = /\s*\((?:[SR]\d{1,3}(?:[\s,;–-]+|(?=\))))+\)$/;

interface Part {
  kind: 'criteria' | 'done' | 'questions' | 'other';
  nodes: RootContent[];
}

export function readIssue(issue: IssueMaterial): IssueReading {
  const parts = partsOf(issue);
  const prose = parts.filter(({ kind }) => kind !== 'questions').flatMap(({ nodes }) => sentencesIn(nodes));
  const found = criteriaIn(parts, prose);
  const criteria = found
    .filter((text) => !text.endsWith('?'))
    .map((text) => text.replace(LABEL, '').replace(REFERENCES, ''))
    .filter((text, index, all) => hasWords(text) && all.indexOf(text) === index);
  const asked = parts.filter(({ kind }) => kind === 'questions').flatMap(({ nodes }) => questionsIn(nodes));
  const questions = [...asked, ...found.filter((text) => text.endsWith('?'))].filter(hasWords);
  const isTitleOnly = found.length === 0 || (found.length === 1 && found[0] === issue.title.trim());
  if (isTitleOnly) questions.push('What are the acceptance criteria?');
  return {
    objective: prose[0] ?? issue.title,
    criteria: criteria.length === 0 ? [issue.title] : criteria.slice(0, MOST_CRITERIA),
    criteriaLeftOut: Math.max(0, criteria.length - MOST_CRITERIA),
    questions: [...new Set(questions)].slice(0, MOST_QUESTIONS),
  };
}

/** The issue by its headings; the heading that is the title is no part of it. */
function partsOf(issue: IssueMaterial): Part[] {
  const nodes = parseMarkdown(normaliseText(issue.body)).children;
  const parts: Part[] = [{ kind: 'other', nodes: [] }];
  let depth = 0;
  for (const [index, node] of nodes.entries()) {
    if (node.type !== 'heading') parts.at(-1)?.nodes.push(node);
    else if (index > 0 || plainText(node) !== issue.title) {
      const kind = kindOf(plainText(node));
      // A subsection of the criteria belongs to them, whatever it is called.
      const inherits = kind === 'other' && node.depth > depth;
      parts.push({ kind: inherits ? (parts.at(-1)?.kind ?? kind) : kind, nodes: [] });
      if (!inherits) depth = node.depth;
    }
  }
  return parts;
}

function kindOf(title: string): Part['kind'] {
  const { key } = readTitle(title);
  if (key === OPEN_QUESTIONS_KEY || /\bquestion\b/.test(key)) return 'questions';
  const says = (words: RegExp): boolean => words.test(title.toLowerCase()) || words.test(key);
  return says(CRITERIA_TITLE) ? 'criteria' : says(DONE_TITLE) ? 'done' : 'other';
}

/** The list under a heading that says so, else checklists, else any list, else sentences. */
function criteriaIn(parts: Part[], prose: string[]): string[] {
  const nodesOf = (wanted: Part['kind']): RootContent[] =>
    parts.filter(({ kind }) => kind === wanted).flatMap(({ nodes }) => nodes);
  const others = nodesOf('other');
  const isChecklist = (list: List): boolean => list.children.some((item) => typeof item.checked === 'boolean');
  const choices = [
    ...[nodesOf('criteria'), nodesOf('done')].flatMap((stated) => [itemsIn(listsIn(stated)), sentencesIn(stated)]),
    itemsIn(listsIn(others).filter(isChecklist)),
    itemsIn(listsIn(others)),
    prose,
  ];
  return choices.find((choice) => choice.some(hasWords)) ?? [];
}

function listsIn(nodes: RootContent[]): List[] {
  return nodes.flatMap((node) => {
    if (node.type === 'list') return [node];
    return node.type === 'blockquote' ? listsIn(node.children) : [];
  });
}

/** Each item by its first paragraph; an item below another is read together with it. */
function itemsIn(lists: List[], above = ''): string[] {
  return lists.flatMap((list) => list.children.flatMap((item) => itemTexts(item, above)));
}

function itemTexts(item: ListItem, above: string): string[] {
  const paragraph = item.children.find((child): child is Paragraph => child.type === 'paragraph');
  const own = paragraph ? flatText(paragraph) : '';
  const text = [above, own].filter((part) => part !== '').join(': ');
  const nested = item.children.filter((child): child is List => child.type === 'list');
  const below = itemsIn(nested, text.replace(/[\s:]+$/, ''));
  if (below.length > 0 && own.endsWith(':')) return below;
  return own === '' ? below : [text, ...below];
}

function sentencesIn(nodes: RootContent[]): string[] {
  return nodes
    .filter((node) => node.type === 'paragraph')
    .flatMap((node) => flatText(node).split(/(?<=[.!?])\s+(?=[\p{Lu}\p{N}`"'(])/u))
    .map((sentence) => sentence.trim())
    .filter(hasWords);
}

function questionsIn(nodes: RootContent[]): string[] {
  const items = itemsIn(listsIn(nodes));
  const texts = items.length > 0 ? items : sentencesIn(nodes).filter((sentence) => sentence.endsWith('?'));
  return texts.filter((text) => !NONE.test(text));
}

function hasWords(text: string): boolean {
  return /[\p{L}\p{N}]/u.test(text);
}
