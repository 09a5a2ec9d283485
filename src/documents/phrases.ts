import type { Nodes } from 'mdast';
import { type DocumentFinding, error, quote, warning } from './finding.ts';
import type { LldDocument } from './lld/document.ts';
import { flatText, lineOf } from './markdown.ts';

/*
 * Phrases that often hide a gap. What a sentence means is for the reviewer to judge, so they warn, and stay few. Only a
 * pass criterion that is nothing but one of a dozen empty words is an error: that is decided by the cell alone.
 */
const EMPTY =
  /^\W*(?:|n\/?a|none|tbd|tba|todo|pending|unknown|ok(?:ay)?|yes|pass(?:es|ed)?|test passes|success(?:ful(?:ly)?)?|(?:it |this |everything |the \w+ )?works?(?: (?:correctly|properly|fine|well|as (?:expected|intended|designed)))?|(?:is |are )?correct|as (?:expected|intended|designed)|behaves as expected|looks (?:good|right|fine)|no (?:errors?|issues|problems)|see above)\W*$/i;
const VAGUE =
  /\b(?:works?|behaves?|functions|handled|performs|renders) (?:correctly|properly|gracefully|as (?:expected|intended))\b|\b(?:user-friendly|reasonable|appropriate|acceptable|fast enough|intuitive)\b/i;
const BY_HAND =
  /\b(?:manually|manual (?:check|test|review|inspection|verification)|by (?:hand|eye)|visual(?:ly)? (?:inspect|check|verif|confirm)\w*|eyeball)/i;
const ENDLESS =
  /\b(?:forever|indefinitely|endlessly|until (?:it|they) (?:succeeds?|works?|pass(?:es)?|responds?)|until success(?:ful)?|keeps? (?:re)?trying|never gives? up)\b|\bwhile\s*\(?\s*true\b|\bfor\s*\(\s*;\s*;\s*\)/i;
/** Whether a criterion names nothing that a program could compare with. */
export function isEmptyCriterion(text: string): boolean {
  return EMPTY.test(text.replace(/[*_`]/g, ''));
}

/** `pass-criteria-vague`, `scenario-manual`, `unbounded-loop`. */
export function checkPhrases(lld: LldDocument): DocumentFinding[] {
  const { scenarios, scenariosLine, hasPassColumn } = lld;
  const criteria = scenarios.flatMap(({ id, pass, expected, scenario, line }) => {
    const decide = 'name the value, message, state or exit code that decides';
    const rule = 'pass-criteria-vague';
    if (!hasPassColumn) return [];
    if (isEmptyCriterion(pass)) {
      const what = pass === '' ? 'are empty' : `${quote(pass)} cannot be checked by a program`;
      return [error(rule, line, `The pass criteria of scenario ${id} ${what}: ${decide}.`)];
    }
    if (VAGUE.test(pass)) return [warning(rule, line, `Scenario ${id} passes when ${quote(pass)}: ${decide}.`)];
    const hand = BY_HAND.exec(`${scenario} ${expected} ${pass}`)?.[0];
    if (hand === undefined) return [];
    return [warning('scenario-manual', line, `Scenario ${id} says ${quote(hand)}: let a program check it.`)];
  });
  const column =
    'The table of scenarios has no column "Pass Criteria": add it, with a condition that a program can check in each row.';
  return [
    ...(scenarios.length > 0 && !hasPassColumn ? [error('pass-criteria-vague', scenariosLine ?? 1, column)] : []),
    ...criteria,
    ...lld.sections
      .filter(({ id }) => ['2.5', '2.6', '8'].includes(id))
      .flatMap(({ nodes }) => nodes.flatMap(piecesOf))
      .filter(({ text }) => ENDLESS.test(text))
      .map(({ text, line }) => {
        const advice = 'name how often or how long at most, and what happens then';
        return warning('unbounded-loop', line, `${quote(text)} has no bound: ${advice}.`);
      }),
  ];
}

/** Each paragraph, item or line of code. */
function piecesOf(node: Nodes): { text: string; line: number }[] {
  if (node.type === 'code')
    return node.value.split('\n').map((text, index) => ({ text: text.trim(), line: lineOf(node) + 1 + index }));
  if (node.type === 'paragraph' || node.type === 'tableRow') return [{ text: flatText(node), line: lineOf(node) }];
  return 'children' in node ? node.children.flatMap(piecesOf) : [];
}
