import type { Verdict } from './review.ts';

/**
 * The words that stand for a verdict, matched at the start of a statement. BLOCK, REJECT and their like mean REVISE:
 * the draft goes back. PASS is missing on purpose, it is the word of the gate and of the coverage section.
 */
const WORDS: [Verdict, RegExp][] = [
  [
    'REVISE',
    /^(?:not(?: yet)? approved?|can(?:no|')t be approved|disapproved?|revise[ds]?|revisions?(?: (?:is |are )?(?:required|needed|requested))?|needs? (?:revisions?|work|changes|to be revised)|changes? (?:requested|required|needed)|request(?:ing|ed)? changes|block(?:ed|ing)?|reject(?:ed|ion)?|denied|declined?|fail(?:ed|s|ure)?)(?![\w/|]|-\w)/i,
  ],
  ['DISCUSS', /^(?:discuss(?:ion)?(?: (?:is )?(?:required|needed))?|needs? discussion|escalated?)(?![\w/|]|-\w)/i],
  ['APPROVED', /^(?:approved?|lgtm)(?![\w/|]|-\w)/i],
];
const DECORATION = /^[\s*_~`"'“”‘’([{<>:=→⇒|.,•–—\-\p{Extended_Pictographic}\uFE0F\u200D]+/u;
const LABEL =
  /^\W*(?:(?:the|my|our|final|overall|governance|review(?:er'?s?)?|lld|design|recommended|gemini)\s+){0,3}(?:(?:verdict|decision)\b\s*(?:\([^)]*\)\s*)?(?:is\b\s*)?[:=–—|-]*|review(?: (?:result|status|outcome))?\s*[:=–—|-]+)\s*(.*)$/i;
/** The label alone: a column, or a line above the boxes. */
export const VERDICT_LABEL = /^\W*(?:final |overall )?(?:verdict|decision)\W*$/i;
/** A label in another language: only the plain word in capitals counts behind it. */
const FOREIGN_LABEL = /^\W*([\p{L}][\p{L} ]{0,30}?)\W*[:：]\W*((?:APPROVED|REVISE|DISCUSS|BLOCKED|REJECTED)\b\W*)$/u;
const LONGEST_LABEL = 120;
const EARLIER = /\b(?:previous|prior|earlier|last|former|coverage|gate|pre-?flight|option|alternative)\b/i;

export interface VerdictWord {
  verdict: Verdict;
  /** What follows the word, decoration included. */
  rest: string;
}

/** The verdict that a statement begins with, or null. */
export function verdictWord(statement: string): VerdictWord | null {
  const spaced = statement.replace(/(?<=[a-z])_(?=[a-z])/gi, ' ');
  const text = spaced.replace(DECORATION, '').replace(/[*_]+/g, '').replace(/\s+/g, ' ');
  for (const [verdict, pattern] of WORDS) {
    const match = pattern.exec(text);
    if (match) return { verdict, rest: text.slice(match[0].length) };
  }
  return null;
}

/** "Request changes", "Approve": the word and nothing else. */
export function wholeStatement(text: string): VerdictWord | null {
  const word = verdictWord(text);
  return word && !/[\p{L}\p{N}]/u.test(word.rest) ? word : null;
}

/** Whether the words after a verdict turn it into a choice ("APPROVED / REVISE", "APPROVED or BLOCKED") or a question. */
export function offersChoice(word: VerdictWord): boolean {
  const [, joint, next = ''] = /^\s*(\?|[|/,]|or\b|vs\b|→|->|=>)\s*(.*)$/is.exec(word.rest) ?? [];
  return joint === '?' || (joint !== undefined && verdictWord(next) !== null);
}

/** Whether nothing but decoration, or a clause set off by punctuation, follows the word; a box is neither. */
export function standsAlone({ rest }: VerdictWord): boolean {
  return /^(?:[^\p{L}\p{N}[]*$|\s*[:.,;!)\]|–—-]|\s*\(| for (?:implementation|development|merge)\b| with (?:\w+ )?(?:comments?|suggestions?|notes?|remarks?|observations?)\b)/iu.test(
    rest,
  );
}

/** The verdict behind a label ("**Verdict:** REVISE"), which begins a line or, after a sentence, its last one. */
export function labelledVerdict(text: string): VerdictWord | null {
  const last = /(?<=[.!?]\s+)(?:Final |Overall )?V(?:erdict|ERDICT)\s*:.*$/s.exec(text)?.[0] ?? text;
  const word = verdictWord(LABEL.exec(last)?.[1] ?? '');
  if (
    word &&
    (word.verdict === 'APPROVED' || standsAlone(word) || /^\s+(?:because|since|as|for|due)\b/i.test(word.rest))
  )
    return word;
  const [, label = '', foreign = ''] = text.length > LONGEST_LABEL ? [] : (FOREIGN_LABEL.exec(text) ?? []);
  return word || EARLIER.test(label) ? null : verdictWord(foreign);
}
