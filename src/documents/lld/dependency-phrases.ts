import { MARK, REFERENCE as R } from './issue-references.ts';

/*
 * How designs say in words what has to be there first. Texts are those of `referredText`, where every reference is a mark;
 * a phrase is read within one sentence.
 *
 *   forward:   "depends on #12 and #13", "blocked by the store of #12", "Prerequisite: #4"
 *   backward:  "#12 must be merged first", "#12 (dependency)", "#12 is a prerequisite", "#12 blocks this"
 *   listed:    "#12 – the store", as an item of a list of dependencies
 *
 * Denied ("does not depend on"), supposed ("would depend on") and other people's dependencies ("#11 depends on #12") are none.
 */

const PAUSE = String.raw`[\s:–—|-]*`;
/** What may stand between one reference and the next of an enumeration. */
const NEXT = String.raw`(?:\s*\([^()]{0,80}\)|\s+for\s+[^,;.()\uE000]{1,60}?)?\s*(?:,\s*(?:and|or)?|;|and|or|&|\+|/|as well as)\s*(?:also\s+)?(?:on\s+|by\s+)?(?:the\s+)?`;
const LIST = `${R}(?:${NEXT}${R})*`;
const FILLER = String.raw`((?:[\p{L}'’-]+\s+){0,8}\(?)`;

const TRIGGER = [
  String.raw`depend(?:s|ing|ent)?\s+(?:up)?on`,
  String.raw`dependenc(?:y|ies)(?:\s+(?:up)?on|(?=\s*[:–—|]))`,
  String.raw`blocked\s+(?:by|on)`,
  'blockers?(?=\\s*[:–—|])',
  String.raw`wait(?:s|ing)?\s+(?:for|on)`,
  'requir(?:e|es|ing)',
  'needs?',
  String.raw`(?:builds?|built|building|sits?|stacked)\s+(?:up)?on(?:\s+top\s+of)?`,
  String.raw`on\s+top\s+of`,
  'after',
  'once',
  String.raw`(?:pre-?requisites?|preconditions?)(?=\s*[:–—|]|\s+(?:is|are)\b)`,
].join('|');
const FORWARD = new RegExp(String.raw`(?<![\p{L}-])(?:${TRIGGER})(?![\p{L}-])${PAUSE}${FILLER}(${LIST})`, 'giu');
/** "can't start until #12", "must not be merged before #12", "does not work without #12" */
const NOT_UNTIL = new RegExp(
  String.raw`(?:\bnot|n['’]t|\bcannot|\bnever|\bnothing)\s[^.;]{0,80}?\b(?:until|before|unless|without)\s+${FILLER}(${LIST})`,
  'giu',
);
const DEPENDENCY_WORD =
  '(?:(?:this |it )?depends on|(?:a |an |the |our |its |hard |direct |real )*(?:dependency|pre-?requisite|blocker|precondition)|blocked by|builds on|requires|required|needed|must (?:land|come|be (?:done|merged|implemented)) first)';
const BACKWARD = [
  // in brackets, after a dash or in the next cell, and nothing that would turn it round
  new RegExp(
    String.raw`(${R})\s*(?:\(|[–—:|]|\s-\s)\s*${DEPENDENCY_WORD}(?=\s*(?:[),.;:–—|]|$|\s-\s))(?!${PAUSE}${R})`,
    'giu',
  ),
  new RegExp(
    String.raw`(${LIST})\s+(?:is|are)\s+(?:(?:a|an|the|our|its|hard|direct|both|all)\s+)*(?:dependenc(?:y|ies)|pre-?requisites?|blockers?|preconditions?|required|needed)\b(?!\s+by\b)(?!\s+(?:of|for|to)\s+(?:\p{L}+\s+)?${R})`,
    'giu',
  ),
  new RegExp(
    String.raw`(${LIST})\s+(?:must|ha(?:s|ve) to|needs? to|should|shall)\s+(?:first\s+)?(?:be\s+|have\s+been\s+|have\s+)?\p{L}+(?:\s+in)?\s+(?:first\b|before\s+(?:this|it|we|work|the|starting|implement)\p{L}*)`,
    'giu',
  ),
  new RegExp(String.raw`(${LIST})\s+blocks?\s+(?:this|it|us|the)\b`, 'giu'),
];
const LISTED = new RegExp(
  String.raw`^\W*?(?:(?:internal|upstream|hard|blocking|issues?|llds?|designs?)\s*:\s*)?${FILLER}(${LIST})(.*)$`,
  'isu',
);
/** "#12 depends on this" is in the list of dependencies by mistake, or the other way round. */
const TURNED_ROUND =
  /^\W*(?:\p{L}+ly\s+|also\s+|will\s+)?(?:depends?|requires?|needs|builds|waits|follows|is\s+(?:blocked|not|un|only|merely|related)|are\s+(?:blocked|not)|does\s+not|doesn|isn|no\s+longer|is\s+un)/iu;

const SENTENCE_END = /(?<=[.!?])\s+(?=[\p{Lu}"'(*\uE000])|;\s+/u;
const CLAUSE_START = /^.*(?:[,;:()–—|]|\b(?:and|but|because|since|so|while|although|which|hence|therefore)\b)/isu;
const DENIED =
  /(?:\b(?:no|not|never|without|neither|nor|nothing|none|nobody|cannot|hardly|would|could|might|formerly|previously|originally|used to|instead of|rather than|if|whether|un)\b|n['’]t\b)(?!\s+(?:only|just|merely))/i;
/** Words between the phrase and the reference that make it something else. */
const NO_LINK =
  /^(?:no|not|none|neither|nothing|see|cf|as|like|unlike|similar|related|than|mentioned|described|discussed|discussion|comments?|reported|explained|e|example|it|this|us|follow-?up|part|parent|child|epic|duplicate|supersedes|replaces?|replacement|successor|used|needed|required|wanted|consumed|blocks?|unblocks?|enables?|by)$/i;
const LINK_END = /^(?:from|of|by|in|for|with|at|on|via)$/i;
const PLAIN =
  /^(?:the|a|an|both|all|either|issues?|llds?|designs?|tickets?|work|open|existing|merge|is|are|be|that|only|mainly|directly|also|first|at|least)$/i;
const SUBJECT = new RegExp(
  String.raw`(${R})\s*(?:[(–—:|-]|,\s*(?:which|that)|which|that|itself|also|already|still|in turn|is|are|was|will(?: be)?|then|directly|only|\s)*$`,
  'iu',
);

/** Marks of what a paragraph, an item or a cell says comes first; `isOwn` tells the design's own issue. */
export function dependencyMarks(given: string, isListed: boolean, isOwn: (mark: string) => boolean): string[] {
  // Most texts refer to nothing, and every pattern below is about a reference.
  if (!given.includes(MARK)) return [];
  const found: string[] = [];
  given.split(SENTENCE_END).forEach((sentence, index) => {
    if (/\?\W*$/.test(sentence)) return;
    const text = sentence.replace(/,\s*(?:however|therefore|in fact|strictly speaking|of course|itself)\s*,/gi, ' ');
    if (isListed && index === 0) found.push(...listedIn(text));
    found.push(...forwardIn(text, isOwn), ...backwardIn(text));
    for (const match of text.matchAll(NOT_UNTIL)) if (isLink(match[1])) found.push(...marksIn(match[2]));
  });
  return found;
}

function listedIn(text: string): string[] {
  const match = LISTED.exec(text);
  return match && isLink(match[1]) && !TURNED_ROUND.test(match[3] ?? '') ? marksIn(match[2]) : [];
}

function forwardIn(text: string, isOwn: (mark: string) => boolean): string[] {
  return [...text.matchAll(FORWARD)].flatMap((match) => {
    const before = text.slice(0, match.index);
    const subject = SUBJECT.exec(before)?.[1];
    if (subject !== undefined && !isOwn(subject)) return [];
    return DENIED.test(before.replace(CLAUSE_START, '')) || !isLink(match[1]) ? [] : marksIn(match[2]);
  });
}

function backwardIn(text: string): string[] {
  return BACKWARD.flatMap((pattern) =>
    [...text.matchAll(pattern)].flatMap((match) =>
      DENIED.test(text.slice(0, match.index).replace(CLAUSE_START, '')) ? [] : marksIn(match[1]),
    ),
  );
}

/** Whether these words lead from a phrase to its reference: "the store of", "both", "issue"; not "lodash, see". */
function isLink(filler = ''): boolean {
  const inBrackets = filler.endsWith('(');
  const words = filler.match(/[^\s(]+/g) ?? [];
  if (words.some((word) => NO_LINK.test(word) && !(LINK_END.test(word) && word !== words[0]))) return false;
  return inBrackets || words.every((word) => PLAIN.test(word)) || LINK_END.test(words.at(-1) ?? '');
}

function marksIn(text = ''): string[] {
  return text.match(new RegExp(R, 'g')) ?? [];
}
