import type { ListItem, Nodes, Root } from 'mdast';
import { lineOf, plainText } from '../markdown.ts';
import { flatText } from './marked-text.ts';
import { OPEN_QUESTIONS_KEY, readTitle } from './section-titles.ts';

export interface OpenQuestion {
  text: string;
  resolved: boolean;
  line: number;
}

const NO_QUESTION =
  /^\W*(?:none|n\/?a|nothing|no(?: (?:open|further|remaining|unresolved|more))* questions?|all (?:questions? )?(?:are |were |have been )?(?:resolved|answered|settled))\b/i;
const RESOLUTION =
  /(?:^|[\s*(~])(?:RESOLVED|ANSWERED|ADDRESSED|CONFIRMED|DECIDED|DECISION|CLOSED|(?:Resolved|Answered|Addressed|Confirmed|Decided|Decision|Answer|Resolution)(?=\s*[:.)–—-]))/;

/** The items under every heading "Open Questions", at whatever level it stands. */
export function readOpenQuestions(root: Root): OpenQuestion[] {
  const questions: OpenQuestion[] = [];
  let depth: number | null = null;
  for (const node of root.children) {
    if (node.type === 'heading') {
      if (readTitle(plainText(node)).key === OPEN_QUESTIONS_KEY) depth = node.depth;
      else if (depth !== null && node.depth <= depth) depth = null;
    } else if (depth !== null) {
      if (node.type === 'list') questions.push(...node.children.map(fromItem));
      else if (node.type === 'paragraph' && /\?/.test(flatText(node))) questions.push(fromParagraph(node));
    }
  }
  return questions.filter((question) => question.text !== '' && !NO_QUESTION.test(question.text));
}

function fromItem(item: ListItem): OpenQuestion {
  const text = flatText(item);
  const [first] = item.children;
  const struck = first ? struckText(first) : '';
  const resolved = item.checked === true || RESOLUTION.test(text) || (struck !== '' && struck.length * 2 > text.length);
  return { text: struck === '' ? questionOf(text) : struck, resolved, line: lineOf(item) };
}

function fromParagraph(paragraph: Nodes): OpenQuestion {
  const text = flatText(paragraph);
  return { text: questionOf(text), resolved: RESOLUTION.test(text), line: lineOf(paragraph) };
}

function struckText(node: Nodes): string {
  if (node.type === 'delete') return flatText(node);
  return 'children' in node
    ? node.children
        .map((child) => struckText(child))
        .join(' ')
        .trim()
    : '';
}

function questionOf(text: string): string {
  const resolution = RESOLUTION.exec(text);
  return (resolution && resolution.index > 0 ? text.slice(0, resolution.index) : text).trim();
}
