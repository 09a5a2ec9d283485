import type { Line } from './outline.ts';
import type { Ruling, Verdict } from './reader.ts';

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

/* What words in a finding's place say of it: that there is none, that it is settled, or what became of one by its id. */

/** "No issues found.", "None.", "PASS (100%)". */
const NO_ISSUES =
  /^(?:there (?:are|is|were) |(?:i|we) (?:found|see|have|identified) )?(?:currently )?no (?:[\w/-]+,? (?:and |or )?){0,4}?(?:issues?|concerns?|findings?|problems?|blockers?|violations?|suggestions?|comments?|objections?|questions?)(?=\s*(?:$|[.,;:!()–—]|- |(?:(?:are|were|is|was|have been) )?(?:found|identified|detected|noted|raised|remain\w*|left|open|present|to report|at this)\b|(?:here|in|with|at|for|from|regarding|related|beyond)\b))/i;
const NOTHING =
  /^(?:none(?: (?:found|identified|noted|at this time|so far))*|n\/?a|nil|nothing(?: (?:to (?:report|flag|add)|found|blocking))?|not applicable|ok(?:ay)?|pass(?:ed|es)?|clear|compliant|met|lgtm|all (?:good|clear)|ningun[oa]|nenhuma?|nessun[oa]|aucune?|keine)(?=\s*$|\s*[.,;:!()\]]|\s+[–—-]\s)/i;
const EXCEPTION =
  /\b(?:except|apart from|aside from|other than|besides|however|though|although|save for|nevertheless)\b|,? but\b(?! (?:please )?(?:see|refer to)\b)/i;
/** Praise says in every clause that something is good, and asks for nothing. In doubt it is a finding. */
const GOOD =
  /^(?:excellent|good|well|solid|sound|comprehensive|confirmed|looks good)\b|\b(?:is|are|have|has|been|looks?|remains?)\b.*\b(?:good|well|excellent|exemplary|solid|robust|sound|thorough|comprehensive|adequate|appropriate|acceptable|clearly|clean|consistent|compliant|complete|correctly|properly|explicit|confirmed|verified|in place|capped|enforced|masked|prevented|bounded|covered|isolated|validated|saniti[sz]ed|mitigated|closed|licen[sc]ed|never logged)\b|\bno (?:personal data|concerns|cost impact|elevated permissions|new (?:dependencies|licen[cs]e)|external (?:api )?calls are made)\b/i;
const PRAISE = /^(?:well done|praise|strengths?|kudos|great|nice(?! to\b))\b/i;
const ASKS =
  /\b(?:but|however|although|despite|except|unless|until|must|should|needs?|requires?|requiring|missing|lack\w*|unclear|ambiguous|vague|fails?|failure|violat\w*|ensure|recommend\w*|consider|suggest\w*|not|cannot|without|un(?!der|i[tqfov]|til)\w{4,}|wrong|incorrect\w*|insufficient|break\w*|crash\w*|leak\w*|infinite|conflict\w*|duplicat\w*|contradict\w*|please|add|update|define|specify|clarify|problem\w*|critical|too|only|could|would|may|might|instead|outside|disabled?|disagree\w*|deadlock\w*|exceed\w*|hides?|below|eval|home directory)\b|n't\b|\?\s*$/i;

export function isNoFinding(finding: string): boolean {
  const text = finding.replace(/^[\s\p{Extended_Pictographic}\uFE0F✓✔*_"“(-]+/u, '').replace(/\s+/g, ' ');
  if (!/[\p{L}\p{N}]/u.test(text)) return true;
  const rest = afterLead(text);
  const isTicked = /^\W*[✓✔✅☑]/u.test(finding) || /^[✓✔✅☑]/u.test(rest);
  const asks = ASKS.test(text.replace(/\bfail(?: mode|[- ](?:closed|open|safe|fast))/gi, 'closed'));
  return (
    saysNothing(text) ||
    (rest !== '' && saysNothing(rest)) ||
    (!asks && (isTicked || PRAISE.test(text) || praises(rest || text)))
  );
}

function saysNothing(text: string): boolean {
  const match = NO_ISSUES.exec(text) ?? NOTHING.exec(text);
  return match !== null && !EXCEPTION.test(text.slice(match[0].length));
}

function praises(text: string): boolean {
  const clauses = text.split(/[.;](?:\s+|$)/).filter((clause) => /\p{L}/u.test(clause));
  return clauses.length > 0 && clauses.every((clause) => GOOD.test(clause.trim()));
}

/** What follows a lead such as "Requirement Coverage:". */
function afterLead(text: string): string {
  return /^[^:\n]{1,60}:\s+(.*)$/s.exec(text)?.[1] ?? '';
}

const SETTLED = '(?:resolved|fixed|settled|addressed|withdrawn|closed|done)';
const SETTLED_FIRST = new RegExp(`^\\W*${SETTLED}\\b(?=\\s*(?:$|[:.;,–—()]|- |in\\b|by\\b|since\\b))`, 'i');
const SETTLED_LAST = new RegExp(`(?:[–—:(\\[]|[.!?~] |- )\\s*(?:now )?${SETTLED}[\\s.)\\]✓✅]*$`, 'i');
/** In capitals it is a mark; "the file is never closed" is what is wrong. */
const SETTLED_LOUD =
  /(?<!\b(?:NOT|not|NEVER|be|NOT YET|not yet) )(?<![`"'\w])\b(?:RESOLVED|FIXED|SETTLED|ADDRESSED|WITHDRAWN|CLOSED(?=\W*$))\b(?![`"'])/;
const NOT_SETTLED =
  /\b(?:not|un|never|partially|must be|should be|to be|needs? to be)[\s-]*(?:yet |fully )?(?:resolved|fixed|settled|addressed)\b/i;

/** Whether a finding's text marks it as dealt with: struck out, or RESOLVED, FIXED, WITHDRAWN. */
export function saysSettled(finding: string): boolean {
  const line = (finding.split('\n', 1)[0] ?? '').trim();
  if (/^\W{0,3}~~[^~]+~~/.test(line)) return true;
  if (NOT_SETTLED.test(line)) return false;
  return (
    [line, afterLead(line)].some((text) => SETTLED_FIRST.test(text)) ||
    SETTLED_LAST.test(line) ||
    SETTLED_LOUD.test(line)
  );
}

const STATES: [Ruling['state'], RegExp][] = [
  [
    'open',
    /^(?:not (?:yet |fully )?(?:fixed|resolved|settled|addressed)|still|remains?|unresolved|unaddressed|reopened|outstanding|partial(?:ly)?|open)\b/i,
  ],
  ['withdrawn', /^(?:withdrawn?|dropped|retracted|no longer (?:applies|applicable|relevant))\b/i],
  ['fixed', /^(?:settled|fixed|resolved|addressed|closed|done|satisfied)\b(?!-)|^[✅✓✔]/i],
];
const IDS = /^\W{0,4}(?:findings? )?(F\d+(?:\s*(?:,|and|&|\/|or)\s*F\d+)*)\b/i;
const STATE_FIRST = /^\W{0,3}(?:now )?([a-z -]+?)\s*[:–—-]\s*(F\d+(?:\s*(?:,|and|&|\s)\s*F\d+)*)\W*$/i;
/** What may stand between an id and its state. */
const FILLER = /^(?:\W|\([^)]*\)|\b(?:is|are|was|were|has|have|been|now|both|all|status|state|considered)\b)*/i;

/** The state that a piece of text begins with. */
function stateOf(text: string): Ruling['state'] | null {
  const said = /^\s*[✅✓✔]/.test(text) ? text.trim() : text.replace(FILLER, '');
  return STATES.find(([, pattern]) => pattern.test(said))?.[0] ?? null;
}

/** "F2: settled", "F1 and F3 are fixed", "F4 – Unbounded retry loop: still open", "Settled: F1, F2", "[x] F5 …". */
export function rulingsIn(lines: readonly Pick<Line, 'said' | 'box'>[]): Ruling[] {
  return lines.flatMap(({ said, box }) => {
    if (!/F\d/i.test(said)) return [];
    const clauses = said.split(/;\s+|\.\s+(?=(?:Finding )?F\d)|,\s+(?=F\d+[^,]*\b(?:is|are|was|remains?|still)\b)/);
    return clauses.flatMap((clause) => {
      const [, before, last] = STATE_FIRST.exec(clause) ?? [];
      const [matched = '', first] = IDS.exec(clause) ?? [];
      // The state comes right behind the ids, or last behind a description or in a cell.
      const pieces = clause.slice(matched.length).split(/ \| |[:–—(]|-\s/);
      const after = stateOf(pieces.join(' ')) ?? pieces.map(stateOf).findLast((state) => state !== null);
      const state = (before === undefined ? after : stateOf(before)) ?? (box === 'ticked' ? 'fixed' : null);
      const ids = (last ?? first ?? '').match(/F\d+/gi) ?? [];
      return state === null ? [] : ids.map((id) => ({ id: id.toUpperCase(), state }));
    });
  });
}
