import type { Verdict } from './review.ts';

/**
 * The words that stand for a verdict, matched at the start of a statement. BLOCK, REJECT and their like mean REVISE:
 * the draft goes back. PASS is missing on purpose, it is the word of the gate and of the coverage section.
 */
const WORDS: [Verdict, RegExp][] = [
  [
    'REVISE',
    /^(?:not(?: yet)? approved?|cannot be approved|can't be approved|disapproved?|revise[ds]?|revisions?(?: (?:is |are )?(?:required|needed|requested))?|needs? (?:revisions?|work|changes|to be revised)|changes? (?:requested|required|needed)|request(?:ing)? changes|block(?:ed|ing)?|reject(?:ed|ion)?|denied|declined?|fail(?:ed|s|ure)?)(?![\w/|]|-\w)/i,
  ],
  ['DISCUSS', /^(?:discuss(?:ion)?(?: (?:is )?(?:required|needed))?|needs? discussion|escalated?)(?![\w/|]|-\w)/i],
  ['APPROVED', /^approved?(?![\w/|]|-\w)/i],
];

const CONDITION =
  /\b(?:if|once|provided|pending|subject to|condition\w*|contingent|unless|until|assuming|as soon as|after (?!(?:\w+ )?(?:rounds?|reviews?|revisions?|re-?review))|with (?:\w+ )?(?:changes|fixes|revisions|modifications|amendments))\b/i;

const DECORATION = /^[\s*_~`"'“”‘’([{<>:=→⇒|.,•–—\-\p{Extended_Pictographic}\uFE0F\u200D]+/u;

export interface VerdictWord {
  verdict: Verdict;
  /** An approval that depends on something: "APPROVED once the loop is bounded". */
  conditional: boolean;
  /** What follows the word, decoration included. */
  rest: string;
}

/** The verdict that a statement begins with, or null. */
export function verdictWord(statement: string): VerdictWord | null {
  const text = statement.replace(DECORATION, '').replace(/[*_]+/g, '').replace(/\s+/g, ' ');
  for (const [verdict, pattern] of WORDS) {
    const match = pattern.exec(text);
    if (!match) continue;
    const rest = text.slice(match[0].length);
    const clause = rest.split(/[.;!?](?:\s|$)/, 1)[0] ?? '';
    return { verdict, rest, conditional: verdict === 'APPROVED' && CONDITION.test(clause) };
  }
  return null;
}

/** Whether the words after a verdict turn it into a choice ("APPROVED / REVISE", "APPROVED or BLOCKED") or a question. */
export function offersChoice(word: VerdictWord): boolean {
  const [, joint, next] = /^\s*(\?|[|/,]|or\b|vs\b|→|->|=>)\s*(.*)$/is.exec(word.rest) ?? [];
  if (joint === undefined) return false;
  return joint === '?' || verdictWord(next ?? '') !== null;
}

/** Whether nothing but decoration, or a clause set off by punctuation, follows the word. */
export function standsAlone(word: VerdictWord): boolean {
  return /^(?:\W*$|\s*[:.,;!)\]–—-]|\s*\(| for (?:implementation|development|merge)\b| with (?:\w+ )?(?:comments?|suggestions?|notes?|remarks?|observations?)\b)/iu.test(
    word.rest,
  );
}

const LABEL =
  /^\W*(?:(?:the|my|our|final|overall|governance|review(?:er'?s?)?|lld|design|recommended|gemini)\s+){0,3}(?:verdict|decision)\b\s*(?:\([^)]*\)\s*)?(?:is\b\s*)?[:=–—|-]*\s*(.*)$/i;

/** The verdict behind a label ("**Verdict:** REVISE"), which begins a line or, after a sentence, its last one. */
export function labelledVerdict(text: string): VerdictWord | null {
  const value = LABEL.exec(/(?<=[.!?]\s+)(?:Final |Overall )?V(?:erdict|ERDICT)\s*:.*$/s.exec(text)?.[0] ?? text)?.[1];
  const word = value ? verdictWord(value) : null;
  return word && (standsAlone(word) || word.conditional || /^\s+(?:because|since|as|for|due)\b/i.test(word.rest))
    ? word
    : null;
}

/** What the sentences of a verdict section say when there is neither a box nor a plain statement in it. */
export function verdictsInProse(prose: string): Set<Verdict> {
  const verdicts = new Set<Verdict>();
  for (const sentence of prose.split(/(?<=[.!?;])\s+|\n/)) {
    const named = new Set(sentence.match(/\b(?:APPROVED?|REVISE|DISCUSS)\b/g));
    if (named.size > 1) continue;
    if (
      /\b(?:cannot|can't|not|never)(?: \w+){0,2} approved?\b|\b(?:must|needs? to|should) be revised\b/i.test(sentence)
    ) {
      verdicts.add('REVISE');
    } else if (/\b(?:not|never|no longer|would|could|might|if|unless)\b/i.test(sentence)) {
      continue;
    } else if (
      /\b(?:is|are|am|be|hereby|must) (?:\w+ )?(?:reject(?:ed|ing)|blocked|blocking)\b|\bREVISE\b|\bREJECT\b/i.test(
        sentence,
      )
    ) {
      verdicts.add('REVISE');
    } else if (/\bDISCUSS\b|\bescalat\w+\b|\bneeds? (?:an? )?(?:orchestrator|human|person)\b/i.test(sentence)) {
      verdicts.add('DISCUSS');
    } else if (/\b(?:is|are|hereby|I|we) (?:\w+ )?approved?\b/i.test(sentence) && !CONDITION.test(sentence)) {
      verdicts.add('APPROVED');
    }
  }
  return verdicts;
}

const REJECTION =
  /\b(?:[Tt]his|[Tt]he) (?:\w+ )?(?:LLD|design|document|draft|proposal|submission|plan|issue)(?: #?\w+)? (?:is|must be|has to be|is hereby) (?:hereby )?(?:rejected|REJECTED|BLOCKED)\b|^\W*(?:REJECTED|I (?:am rejecting|reject) this)\b/;

const SHOUTED = /\b(?:is|was|be|been|am|are)(?: \w+){0,2} REJECTED\b/;
const UNSURE = /\b(?:previously|earlier|not|never|would|if|option|alternative)\b[^.]*\bREJECTED\b/i;

/** "This LLD is REJECTED because …": the one verdict that prose outside of a verdict section can carry. */
export function rejectsInProse(paragraph: string): boolean {
  return REJECTION.test(paragraph) && !UNSURE.test(paragraph);
}

/** "It can't go on like this and is therefore REJECTED": enough where nothing else is said about the verdict. */
export function shoutsRejection(paragraph: string): boolean {
  return SHOUTED.test(paragraph) && !UNSURE.test(paragraph);
}
