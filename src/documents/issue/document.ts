import type { RootContent } from 'mdast';
import { flatText, statementsIn } from '../../markdown/markdown.ts';
import type { NumberedEntry } from '../coverage.ts';
import { readNumbered, requirementReferences, SCENARIO_LABEL } from '../lld/requirements.ts';
import { type ParsedDocument, parseDocument, sectionName } from '../sections.ts';

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

export interface IssueDocument extends ParsedDocument {
  scenarios: NumberedEntry[];
  requirements: NumberedEntry[];
  criteria: IssueCriterion[];
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

export function readIssueDocument(given: string): IssueDocument {
  const { parsed, nodesOf } = parseDocument(given, ISSUE_SECTIONS);
  const scenarios = readNumbered(nodesOf('scenarios'), parsed.text, SCENARIO_LABEL);
  const requirements = readNumbered(nodesOf('requirements'), parsed.text);
  const known = { scenarios: scenarios.map(({ id }) => id), requirements: requirements.map(({ id }) => id) };
  return { ...parsed, scenarios, requirements, criteria: readCriteria(nodesOf('criteria'), known) };
}

const CRITERION_LABEL = /^\W*(?:ac|criterion)[\s._#-]*\d{1,3}(?=\W)[\s.:)\]*–—-]*/i;

/** Reads list items and labelled lines. A heading above them passes its references on to them. */
function readCriteria(nodes: RootContent[], known: References): IssueCriterion[] {
  let above = '';
  const found = nodes.flatMap((node) => {
    if (node.type === 'heading') above = withoutReferences(`${flatText(node)}:`).named;
    const said = statementsIn([node]).filter(({ text }) => node.type === 'list' || CRITERION_LABEL.test(text));
    return said.map(({ text: given, line }) => {
      const { text, named } = withoutReferences(given);
      return { text, line, ...referencesIn(`${above}, ${named}`, known) };
    });
  });
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
