import type { Verdict } from './review.ts';

/**
 * The words that stand for a verdict, matched at the start of a statement. BLOCK, REJECT and their like mean REVISE:
 * the draft goes back. PASS is missing on purpose, it is the word of the gate and of the coverage section.
 */
const WORDS: [Verdict, RegExp][] = [
  [
    'REVISE',
    /^(?:not(?: yet)? approved?|cannot be approved|can't be approved|disapproved?|revise[ds]?|revisions?(?: (?:is |are )?(?:required|needed|requested))?|needs? (?:revisions?|work|changes|to be revised)|changes? (?:requested|required|needed)|request(?:ing|ed)? changes|block(?:ed|ing)?|reject(?:ed|ion)?|denied|declined?|fail(?:ed|s|ure)?)(?![\w/|]|-\w)/i,
  ],
  ['DISCUSS', /^(?:discuss(?:ion)?(?: (?:is )?(?:required|needed))?|needs? discussion|escalated?)(?![\w/|]|-\w)/i],
  ['APPROVED', /^approved?(?![\w/|]|-\w)/i],
];
const DECORATION = /^[\s*_~`"'“”‘’([{<>:=→⇒|.,•–—\-\p{Extended_Pictographic}\uFE0F\u200D]+/u;
const LABEL =
  /^\W*(?:(?:the|my|our|final|overall|governance|review(?:er'?s?)?|lld|design|recommended|gemini)\s+){0,3}(?:verdict|decision|review(?: (?:result|status|outcome))?)\b\s*(?:\([^)]*\)\s*)?(?:is\b\s*)?[:=–—|-]+\s*(.*)$/i;
const LABEL_IS = /^\W*(?:(?:the|my|our|final|overall)\s+){0,2}(?:verdict|decision)\b\s*(?:is\b)?\s*(.*)$/i;
/** A label in another language: only the plain word in capitals counts behind it. */
const FOREIGN_LABEL = /^\W*([\p{L}][\p{L} ]{0,30}?)\W*[:：]\W*((?:APPROVED|REVISE|DISCUSS|BLOCKED|REJECTED)\b\W*)$/u;
/** A label and a word. */
const LONGEST_LABEL = 120;

export function foreignLabel(text: string): RegExpExecArray | null {
  return text.length > LONGEST_LABEL ? null : FOREIGN_LABEL.exec(text);
}
const EARLIER = /\b(?:previous|prior|earlier|last|former|coverage|gate|pre-?flight|option|alternative)\b/i;

export interface VerdictWord {
  verdict: Verdict;
  /** What follows the word, decoration included. */
  rest: string;
}

/** The verdict that a statement begins with, or null. */
export function verdictWord(statement: string): VerdictWord | null {
  const text = statement.replace(DECORATION, '').replace(/[*_]+/g, '').replace(/\s+/g, ' ');
  for (const [verdict, pattern] of WORDS) {
    const match = pattern.exec(text);
    if (match) return { verdict, rest: text.slice(match[0].length) };
  }
  return null;
}

/** Whether the words after a verdict turn it into a choice ("APPROVED / REVISE", "APPROVED or BLOCKED") or a question. */
export function offersChoice(word: VerdictWord): boolean {
  const [, joint, next] = /^\s*(\?|[|/,]|or\b|vs\b|→|->|=>)\s*(.*)$/is.exec(word.rest) ?? [];
  if (joint === undefined) return false;
  return joint === '?' || verdictWord(next ?? '') !== null;
}

/** Whether nothing but decoration, or a clause set off by punctuation, follows the word; a box is neither. */
export function standsAlone(word: VerdictWord): boolean {
  return /^(?:[^\w[]*$|\s*[:.,;!)\]|–—-]|\s*\(| for (?:implementation|development|merge)\b| with (?:\w+ )?(?:comments?|suggestions?|notes?|remarks?|observations?)\b)/iu.test(
    word.rest,
  );
}

/** The verdict behind a label ("**Verdict:** REVISE"), which begins a line or, after a sentence, its last one. */
export function labelledVerdict(text: string): VerdictWord | null {
  const last = /(?<=[.!?]\s+)(?:Final |Overall )?V(?:erdict|ERDICT)\s*:.*$/s.exec(text)?.[0] ?? text;
  const value = LABEL.exec(last)?.[1] ?? LABEL_IS.exec(last)?.[1];
  const word = value ? verdictWord(value) : null;
  if (word)
    return word.verdict === 'APPROVED' || standsAlone(word) || /^\s+(?:because|since|as|for|due)\b/i.test(word.rest)
      ? word
      : null;
  const [, label = '', foreign] = foreignLabel(text) ?? [];
  return foreign === undefined || EARLIER.test(label) ? null : verdictWord(foreign);
}
