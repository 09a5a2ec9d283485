import type { ListItem, Root, RootContent } from 'mdast';
import { type NumberedEntry, readNumbered, requirementReferences, SCENARIO_LABEL } from '../lld/requirements.ts';
import { flatText, lineOf, markedText, normaliseText, parseMarkdown, plainText } from '../markdown.ts';
import { type QuestionItem, questionItems } from '../questions.ts';
import { type DocumentSections, findSections, sectionName, titleOf } from '../sections.ts';

/** Ids that a criterion names. */
export interface References {
  scenarios: string[];
  requirements: string[];
}

export interface IssueCriterion extends References {
  /** `AC1`, `AC2`, … in order. */
  label: string;
  /** Without label and references. */
  text: string;
  line: number;
}

/** A parsed issue. Lines are counted from 1 in the text as given. */
export interface IssueDocument extends DocumentSections {
  /** The normalised text. */
  text: string;
  root: Root;
  /** Empty without a title heading. */
  title: string;
  titleLine: number;
  scenarios: NumberedEntry[];
  requirements: NumberedEntry[];
  criteria: IssueCriterion[];
  openQuestions: QuestionItem[];
}

/** In the order of the template. */
export const ISSUE_SECTIONS = [
  sectionName('story', 'User Story', /^(?:user )?(?:story|value)$/),
  sectionName(
    'objective',
    'Objective',
    /^(?:objective|goal|summary|problem(?: statement)?|motivation|background|overview)(?: (?:objective|goal))?$/,
  ),
  sectionName(
    'scenarios',
    'Scenarios of Use',
    /^(?:(?:usage |user |use )?scenario(?: use| usage)?|use case|(?:ux|user|usage) (?:flow|journey)|workflow|example)$/,
  ),
  sectionName('requirements', 'Requirements', /^(?:functional |detailed )?(?:requirement|behaviou?r)$/),
  sectionName('criteria', 'Acceptance Criteria', /^(?:acceptance|success) (?:criteria|criterion|test)$/),
  sectionName('scope', 'Out of Scope', /^(?:out scope|not in scope|non goal|scope|limitation|exclusion)$/),
  sectionName('done', 'Definition of Done', /^(?:definition done|dod|done when)$/),
  sectionName('questions', 'Open Questions', /^open question$/, { missing: null }),
  sectionName('log', 'Review Log', /^review log$/, { missing: null }),
];

/** Never throws: missing or unreadable parts are empty, and the checks report them. */
export function readIssueDocument(given: string): IssueDocument {
  const text = normaliseText(given);
  const root = parseMarkdown(text);
  const outline = findSections(root, ISSUE_SECTIONS);
  const title = titleOf(root, ISSUE_SECTIONS);
  const nodesOf = (id: string) => outline.sections.find((section) => section.id === id)?.nodes ?? [];
  const scenarios = readNumbered(nodesOf('scenarios'), text, SCENARIO_LABEL);
  const requirements = readNumbered(nodesOf('requirements'), text);
  return {
    text,
    root,
    title: plainText(title),
    titleLine: lineOf(title),
    ...outline,
    scenarios,
    requirements,
    criteria: readCriteria(nodesOf('criteria'), {
      scenarios: scenarios.map(({ id }) => id),
      requirements: requirements.map(({ id }) => id),
    }),
    openQuestions: questionItems(text, root),
  };
}

const CRITERION_LABEL = /^\W*(?:ac|criterion)[\s._#-]*\d{1,3}(?=\W)[\s.:)\]*–—-]*/i;

/** Reads list items and labelled lines. A heading or an item that groups them passes its references on to them. */
function readCriteria(nodes: RootContent[], known: References): IssueCriterion[] {
  const found: Omit<IssueCriterion, 'label'>[] = [];
  let above = '';
  const add = (given: string, line: number, inherited: string): void => {
    const { text, named } = withoutReferences(given);
    found.push({ text, line, ...referencesIn(`${inherited}, ${named}`, known) });
  };
  const addItem = (item: ListItem, inherited: string): void => {
    const [first, ...rest] = item.children;
    const lists = rest.filter((child) => child.type === 'list');
    const lead = withoutReferences(`${first ? flatText(first) : ''}:`);
    if (lists.length > 0 && lead.text === '') {
      for (const list of lists) for (const child of list.children) addItem(child, `${inherited}, ${lead.named}`);
    } else add(flatText(item), lineOf(item), inherited);
  };
  for (const node of nodes) {
    if (node.type === 'heading') above = withoutReferences(`${flatText(node)}:`).named;
    else if (node.type === 'list') for (const item of node.children) addItem(item, above);
    else if (node.type === 'paragraph') {
      for (const [index, text] of markedText(node).split('\n').entries()) {
        if (CRITERION_LABEL.test(text)) add(text, lineOf(node) + index, above);
      }
    }
  }
  return found.map((criterion, index) => ({ label: `AC${index + 1}`, ...criterion }));
}

const ONE = String.raw`(?<![\p{L}\p{N}])(?:(?:scenarios?|sc|s|requirements?|reqs?|n?fr|r)[\s._#-]{0,2})+\d{1,3}(?![\p{L}\p{N}])`;
/** `S1`, `S1, R2`, `S1–S3 and R2`, `covers S1, 2`. */
const GROUP = String.raw`(?:covers?:?\s*|for\s+|see\s+)?(${ONE}(?:[\s,;&/+–—.-]*(?:and\s+|to\s+)?(?:${ONE}|\d{1,3}(?![\p{L}\p{N}])))*)`;
/** In brackets, at the beginning and at the end. Elsewhere `S3` may be the name of a product. */
const PLACES = [
  new RegExp(String.raw`[([]\s*${GROUP}\s*[)\]]`, 'giu'),
  new RegExp(String.raw`^\W*${GROUP}\s*[:–—-]+\s*`, 'giu'),
  new RegExp(String.raw`(?:^|[.;,:–—→|]\s*|\s-\s+)${GROUP}[\s.]*$`, 'giu'),
];
const IN_FULL = /(?<![\p{L}\p{N}-])(?:scenarios?|requirements?|REQ)[\s-]?\d{1,3}(?![\p{L}\p{N}])/giu;

/** A criterion's text, and what it names. */
function withoutReferences(given: string): { text: string; named: string } {
  const named: string[] = [];
  let text = given.replace(CRITERION_LABEL, '');
  for (const place of PLACES) {
    text = text.trim().replace(place, (_, group: string) => {
      named.push(group);
      return ' ';
    });
  }
  text = text.replace(/\s+/g, ' ').replace(/^\W+$|^ | (?=[.,;]?$)/g, '');
  return { text, named: [...named, ...(text.match(IN_FULL) ?? [])].join(', ') };
}

/** A bare number has the kind of the one before: `S1, 2` are two scenarios. */
function referencesIn(named: string, known: References): References {
  const found: References = { scenarios: [], requirements: [] };
  let kind: keyof References = 'requirements';
  for (const part of named.split(/[,;&/+]|\band\b/)) {
    const letter = /\p{L}/u.exec(part)?.[0].toLowerCase();
    if (letter !== undefined) kind = letter === 's' ? 'scenarios' : 'requirements';
    const numbered = part.replace(/(?<!\p{L})(?:scenarios?|sc|s)(?=[\s._#-]*\d)/giu, 'R');
    found[kind].push(...requirementReferences(numbered, known[kind]));
  }
  return { scenarios: [...new Set(found.scenarios)], requirements: [...new Set(found.requirements)] };
}
