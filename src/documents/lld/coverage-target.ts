import type { Nodes, RootContent } from 'mdast';
import { lineOf, plainText } from '../markdown.ts';
import type { LldDocument } from './document.ts';
import { flatText, markedText } from './marked-text.ts';

/** Where a design says what its tests have to reach. */
const SECTIONS = new Set(['3', '10', '12']);

const PERCENT = String.raw`(\d{1,3}(?:[.,]\d+)?)\s*(?:%|percent\b|per\s+cent\b)`;
const WORDS = String.raw`(?:[\p{L}\x60./*'’-]+\s+)`;
/** "≥ 95 % line coverage", "90 % or more of test coverage" */
const BEFORE = new RegExp(
  String.raw`${PERCENT}\s+(?:or\s+(?:more|higher|better|above)\s+)?(${WORDS}{0,4})coverage\b`,
  'giu',
);
/** "… overall, and 95 % for src/x" */
const MORE = String.raw`((?:(?:\s+[\p{L}\x60./-]+){0,4}\s*(?:,\s*(?:and\s+)?|and|or|/)\s*(?:at\s+least\s+|≥\s*|>=?\s*)?\d{1,3}(?:[.,]\d+)?\s*%(?!\s+branch))*)`;
/** "Test coverage ≥ 95 %", "coverage of the new code must be at least 90 %, and 95 % for src/x" */
const AFTER = new RegExp(String.raw`(${WORDS}{0,3})coverage\b([^%]{0,100}?)${PERCENT}${MORE}`, 'giu');
/** "90 % of the changed lines are covered" */
const COVERED = new RegExp(
  String.raw`${PERCENT}\s+of\s+(?:(?:all|the|its|new|changed|added|production)\s+)*(?:lines|code|statements)\b(?:\s+[\p{L}-]+){0,4}?\s+covered\b`,
  'giu',
);
/** As the tools take it: `--cov-fail-under=90`. */
const FLAG = /--(?:cov-)?fail-under[= ](\d{1,3}(?:\.\d+)?)/g;

/** The coverage of lines goes by these names; that of branches or of requirements is something else. */
const OTHER_KIND =
  /\b(?:requirements?|reqs?|scenarios?|criteri(?:a|on)|acceptance|features?|use[ -]cases?|stor(?:y|ies)|mutation|branch(?:es)?|condition|function|path|type|docs?|documentation|api|risks?)\b/i;
const LINE_KIND = /\b(?:lines?|statements?|code)\b/i;
const OF_REQUIREMENTS = /\b(?:requirements?|scenarios?|criteri(?:a|on)|use[ -]cases?)\b/i;
const CALCULATED = /calculation|\d\s*\/\s*\d|\btotal\s*=/i;
const NOT_BELOW =
  /\b(?:(?:must|may|can|should|shall|does|do|will)\s*(?:not|n['’]t)|cannot|never)\s+(?:drop|fall|goe?|sink|be|decrease)s?\s+(?:below|under|lower\s+than)\b|\b(?:not?|never)\s+(?:less\s+than|lower\s+than|below|under)\b/gi;
const TOO_LOW = /(?:\b(?:below|under|less\s+than|lower\s+than)\b|<(?!=))/gi;
const HAS_CONSEQUENCE = /\b(?:fail|reject|block|break|error|refus|stop|red\b|exit)/i;
const DENIED =
  /\b(?:no|not|never|without|instead of|rather than|would|could|might|ideally|optional(?:ly)?|stretch|nice to have|current(?:ly)?|existing|today|baseline|was|were|before|formerly|previously|at most|up to|drops?|fell|by(?=\s+\d|\s*$))\b|n['’]t\b|≤|<|~/i;
/** "100 % coverage is not required", "90 % coverage would be nice", "72 % before" */
const DENIED_AFTERWARDS =
  /^\W*(?:(?:(?:is|are|do|does)\s*(?:not|n['’]t)|(?:is|are)\s+(?:optional|nice|a\s+stretch|only)|would|could|might|was|were|today|so\s+far|currently)\b|before\s*(?:[.,;)]|$))/i;
const CLAUSE_START = /^.*(?:[,;:()|]|\b(?:and|but|with)\b)/isu;
const MORE_PERCENT = /(\d{1,3}(?:[.,]\d+)?)\s*%/g;

/**
 * The percentage of lines that the design's tests have to cover, the highest when it names several; null when it asks
 * for none. How many of its requirements have a scenario is another number.
 */
export function coverageTargetOf(lld: LldDocument): number | null {
  const scenarioLines = new Set(lld.scenarios.map(({ line }) => line));
  const targets = lld.sections
    .filter(({ id }) => SECTIONS.has(id))
    .flatMap(({ nodes }) => statementsIn(nodes, scenarioLines))
    .flatMap((text) => [...flagsIn(text), ...sentencesOf(text).flatMap(targetsIn)])
    .filter((percent) => percent > 0 && percent <= 100);
  return targets.length === 0 ? null : Math.max(...targets);
}

/** Paragraphs, items and rows, each with the heading that they stand under when it says what their number is. */
function statementsIn(nodes: readonly RootContent[], scenarioLines: ReadonlySet<number>): string[] {
  let heading = '';
  return nodes.flatMap((node) => {
    if (node.type === 'heading') {
      heading = /coverage/i.test(plainText(node)) ? plainText(node).replace(/^[\d.\s]+/, '') : '';
      return [];
    }
    const texts = textsOf(node, scenarioLines);
    return heading === ''
      ? texts
      : texts.map((text) => (/coverage/i.test(text) && !OTHER_KIND.test(heading) ? text : `${heading}: ${text}`));
  });
}

function textsOf(node: Nodes, scenarioLines: ReadonlySet<number>): string[] {
  if (node.type === 'paragraph') return markedText(node).split(/\n(?=[*_\s]*\p{Lu}[\p{L} ]{0,30}:)/u);
  if (node.type === 'list')
    return node.children.flatMap((item) => item.children.flatMap((child) => textsOf(child, scenarioLines)));
  if (node.type === 'blockquote') return node.children.flatMap((child) => textsOf(child, scenarioLines));
  if (node.type !== 'table') return [];
  // What a scenario puts in or expects is not what the design demands of its own tests.
  return node.children
    .filter((row) => !scenarioLines.has(lineOf(row)))
    .map((row) => row.children.map((cell) => flatText(cell)).join(' | '));
}

function sentencesOf(text: string): string[] {
  return text.replace(/\s+/g, ' ').split(/(?<=[.!?])\s+(?=[\p{Lu}"'(*\x60])|;\s*/u);
}

function flagsIn(text: string): number[] {
  return [...text.matchAll(FLAG)].map((match) => Number(match[1]));
}

function targetsIn(sentence: string): number[] {
  if (CALCULATED.test(sentence)) return [];
  const least = sentence.replace(NOT_BELOW, 'at least');
  const text = HAS_CONSEQUENCE.test(least) ? least.replace(TOO_LOW, 'at least') : least;
  // "≥ 95 % line coverage, 80 % branch coverage": a number in front of its name is not also behind the last one.
  const rest = text.replace(BEFORE, ' , ');
  const before = [...text.matchAll(BEFORE)].flatMap((match) => {
    const [all, percent = '', kind = ''] = match;
    const after = text.slice(match.index + all.length);
    const about = /^[^,;.(]*/.exec(after)?.[0] ?? '';
    return isDemand({ clause: lastClause(text.slice(0, match.index)) + kind, kind, about, after })
      ? [valueOf(percent)]
      : [];
  });
  const behind = [...rest.matchAll(AFTER)].flatMap((match) => {
    const [all, kind = '', between = '', percent = '', more = ''] = match;
    const after = rest.slice(match.index + all.length);
    if (DENIED.test(between) || /\band\s*$/.test(between)) return [];
    const isOne = isDemand({ clause: lastClause(rest.slice(0, match.index) + kind), kind, about: between, after });
    return isOne ? [valueOf(percent), ...percentsIn(more)] : [];
  });
  const covered = [...text.matchAll(COVERED)].flatMap((match) =>
    isDemand({ clause: lastClause(text.slice(0, match.index)), kind: 'line', about: '', after: '' })
      ? [valueOf(match[1] ?? '')]
      : [],
  );
  return [...before, ...behind, ...covered];
}

interface Mention {
  /** What leads up to it. */
  clause: string;
  /** The words before "coverage". */
  kind: string;
  /** What it is said of. */
  about: string;
  /** The rest of the sentence. */
  after: string;
}

function isDemand({ clause, kind, about, after }: Mention): boolean {
  if (DENIED.test(clause) || DENIED_AFTERWARDS.test(after)) return false;
  if (LINE_KIND.test(kind)) return true;
  if (OTHER_KIND.test(lastClause(kind))) return false;
  // "All requirements have 100 % test coverage" counts requirements; "REQ-3: test coverage" is one.
  return !OF_REQUIREMENTS.test(`${clause} ${about}`);
}

function lastClause(text: string): string {
  return text.replace(CLAUSE_START, '');
}

function percentsIn(text: string): number[] {
  return [...text.matchAll(MORE_PERCENT)].map((match) => valueOf(match[1] ?? ''));
}

function valueOf(percent: string): number {
  return Number(percent.replace(',', '.'));
}
