import { codeIn, lineOf, proseIn } from '../markdown/markdown.ts';
import { type DocumentFinding, error, quote, warning } from './finding.ts';
import type { LldDocument } from './lld/document.ts';

/*
 * Phrases that often hide a gap. The reviewer judges what a sentence means, so these only warn, and the lists stay short. Only
 * a pass criterion that is nothing but an empty word is an error, because the cell alone decides that.
 */
const EMPTY =
  /^\W*(?:|n\/?a|none|tbd|tba|todo|pending|unknown|ok(?:ay)?|yes|pass(?:es|ed)?|test passes|success(?:ful(?:ly)?)?|(?:it |this |everything |the \w+ )?works?(?: (?:correctly|properly|fine|well|as (?:expected|intended|designed)))?|(?:is |are )?correct|as (?:expected|intended|designed)|behaves as expected|looks (?:good|right|fine)|see above)\W*$/i;
const VAGUE =
  /\b(?:works?|behaves?|functions|handled|performs|renders) (?:correctly|properly|gracefully|as (?:expected|intended))\b|\b(?:user-friendly|reasonable|appropriate|acceptable|fast enough|intuitive)\b/i;
const BY_HAND =
  /\b(?:manually|manual (?:check|test|review|inspection|verification)|by (?:hand|eye)|visual(?:ly)? (?:inspect|check|verif|confirm)\w*|eyeball)/i;
const ENDLESS =
  /\b(?:forever|indefinitely|endlessly|until (?:it|they) (?:succeeds?|works?|pass(?:es)?|responds?)|until success(?:ful)?|keeps? (?:re)?trying|never gives? up)\b|\bwhile\s*\(?\s*true\b|\bfor\s*\(\s*;\s*;\s*\)/i;

/** Whether a criterion has nothing that a program could compare. */
export function isEmptyCriterion(text: string): boolean {
  return EMPTY.test(text.replace(/[*_`]/g, ''));
}

/** `pass-criteria-vague`, `scenario-manual`, `unbounded-loop`. */
export function checkPhrases({ scenarios, scenariosLine, hasPassColumn, sections }: LldDocument): DocumentFinding[] {
  const [rule, decide] = ['pass-criteria-vague', 'name the value, message, state or exit code that decides'];
  const criteria = scenarios.flatMap(({ id, pass, expected, scenario, line }) => {
    const empty = pass === '' ? 'are empty' : `${quote(pass)} can't be checked by a program`;
    if (isEmptyCriterion(pass)) return [error(rule, line, `The pass criteria of scenario ${id} ${empty}: ${decide}.`)];
    if (VAGUE.test(pass)) return [warning(rule, line, `Scenario ${id} passes when ${quote(pass)}: ${decide}.`)];
    const hand = BY_HAND.exec(`${scenario} ${expected} ${pass}`)?.[0];
    if (hand === undefined) return [];
    return [warning('scenario-manual', line, `Scenario ${id} says ${quote(hand)}: let a program check it.`)];
  });
  const column =
    'The table of scenarios has no column "Pass Criteria": add it, with a condition that a program can check in each row.';
  const without = scenarios.length === 0 ? [] : [error(rule, scenariosLine ?? 1, column)];
  const flow = sections.filter(({ id }) => ['2.5', '2.6', '8'].includes(id)).flatMap(({ nodes }) => nodes);
  const code = flow.flatMap(codeIn).flatMap((block) => {
    return block.value.split('\n').map((text, index) => ({ text: text.trim(), line: lineOf(block) + 1 + index }));
  });
  const endless = [...flow.flatMap(proseIn), ...code].filter(({ text }) => ENDLESS.test(text));
  return [
    ...(hasPassColumn ? criteria : without),
    ...endless.map(({ text, line }) => {
      const advice = 'name the limit and what happens when it is reached';
      return warning('unbounded-loop', line, `${quote(text)} has no bound: ${advice}.`);
    }),
  ];
}
