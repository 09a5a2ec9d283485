/** Items under a tier that say that nothing is wrong, or that it no longer is. */

const ADJECTIVE =
  /(?:tier[\s-]?\d|blocking|high[\s-]priority|critical|major|significant|serious|further|new|additional|remaining|other|outstanding|open|material|immediate|specific|obvious|known|notable|apparent|real|unresolved|pending|more|cost|safety|security|legal|privacy|compliance|licen[cs]ing|architectur(?:e|al)|observability|quality|performance|design|structural)/
    .source;
const STATED =
  /(?:found|identified|detected|noted|observed|raised|present|apparent|outstanding|remain\w*|to report|at this (?:time|stage))/
    .source;
const NO_ISSUES = new RegExp(
  `^(?:there (?:are|is|were) )?(?:currently )?no (?:${ADJECTIVE}(?:,? (?:and |or )?|/))*` +
    `(?:(?:issues?|concerns?|findings?|problems?|blockers?|violations?|suggestions?|comments?|objections?)` +
    `(?=\\s*(?:$|[.,;:!()–—]|- |(?:(?:are|were|is|was|have been) )?${STATED}\\b|(?:here|in|with|at|for|from|regarding|related|beyond)\\b))` +
    `|(?:risks?|gaps?|questions?|items?|changes|improvements?|actions?)(?=\\s*(?:$|[.,;:!()–—]|(?:were |are )?(?:found|identified|needed|required|necessary)\\b)))`,
  'i',
);
const NOTHING =
  /^(?:none(?: (?:found|identified|noted|at this time|so far))?|n\/?a|nil|nothing(?: (?:to (?:report|flag|add)|found|blocking))?|not applicable|ok(?:ay)?|pass(?:ed|es)?|clear|clean|compliant|satisfied|met|lgtm|all (?:good|clear|pass(?:ed)?|checks? pass(?:ed)?|requirements met))(?=\s*$|\s*[.,;:!(]|\s+[–—-]\s)/i;
const EXCEPTION = /\b(?:except|apart from|aside from|other than|besides|however|that said|nevertheless)\b|,? but\b/i;

const POSITIVE =
  'good|great|fine|excellent|solid|robust|strong|sound|nice|thorough|comprehensive|adequate|appropriate|acceptable|correct|proper|sufficient|safe|compliant|complete|consistent|commendable|exemplary|satisfactory|sensible|reasonable|approved|actionable|ready';
const DONE =
  'set|defined|handled|specified|designed|bounded|scoped|addressed|documented|validated|sanitised|sanitized|isolated|structured|mitigated|stated|configured|tested|covered|implemented|considered|managed|enforced|planned|thought';
const ADVERB =
  '(?:well|correctly|properly|clearly|explicitly|fully|adequately|appropriately|nicely|sufficiently|strictly)';
const PRAISE_FIRST = new RegExp(
  `^(?:looks? (?:${POSITIVE}|ok)|well[\\s-]\\w+|(?:${POSITIVE})|nicely|${ADVERB}[\\s-](?:${DONE})|(?:${DONE}))\\b`,
  'i',
);
const PRAISE = new RegExp(
  `\\b(?:is|are|looks?|remains?|has been|have been|was|were) (?:(?:very|quite|now|both|all|generally|already|in) ){0,2}(?:${ADVERB}[\\s-](?:${DONE})|well[\\s-]\\w+|${POSITIVE})\\b` +
    `|\\b(?:correctly|properly|explicitly) (?:uses|handles|follows|identifies|prevents|addresses|defines|avoids|separates)\\b`,
  'i',
);
const RESERVATION =
  /\b(?:but|however|although|though|except|yet|unless|until|must|should|shall|needs?|needed|requires?|missing|misses|lack(?:s|ing)?|unclear|ambiguous|vague|fails?|failed|failure|violat\w*|ensure|recommend\w*|consider|suggest\w*|not|never|cannot|no|without|risks?|un(?:bounded|defined|specified|tested|handled)|incorrect\w*|wrong|insufficient|inconsistent|breaks?|broken|crash\w*|leak\w*|infinite|conflict\w*|duplicat\w*|contradict\w*|race|please|add|specify|clarify|issues?|problems?|critical|block\w*|too|only|could|would|may|might|instead|hard-?coded|overwrit\w*|expos\w*|vulnerab\w*|unsafe|insecure|hangs?|stale|omit\w*|absent|home directory|outside|than)\b|n't\b/i;
const HARMLESS =
  /\bno (?:further )?(?:changes?|action|issues?|concerns?|problems?|revisions?)(?: (?:is|are))?(?: (?:needed|required|necessary|found))?\b|\bseparation of concerns\b|\bfail[s-]? ?(?:safe|closed|open|fast)\b|\b(?:risks?|issues?) (?:is|are) (?:well |adequately |properly )?(?:mitigated|addressed|handled)\b/gi;

const VERDICT_ON_LLD =
  /^(?:the |this )?(?:lld|design|issue|draft|document) (?:is|can be|looks) (?:approved|actionable|ready|acceptable)\b/i;
const POINTER = /^(?:see|refer to|as (?:noted|discussed|above|per))\b[^.]{0,70}\.?$/i;
const SETTLED_WORD = '(?:resolved|fixed|settled|addressed|withdrawn|closed|done)';
const SETTLED_FIRST = new RegExp(`^\\W*${SETTLED_WORD}\\b(?=\\s*(?:$|[:.;,–—()]|- |in\\b|by\\b|since\\b))`, 'i');
const SETTLED_LAST = new RegExp(
  `(?:[–—:(\\[]|[.!?~] |- |\\s(?=[A-Z]{4}))\\s*(?:now )?${SETTLED_WORD}[\\s.)\\]✓✅]*$`,
  'i',
);
const SETTLED_LOUD =
  /(?<!\b(?:NOT|not|be|NOT YET|not yet) )(?<![`"'\w])\b(?:RESOLVED|FIXED|SETTLED|ADDRESSED|WITHDRAWN)\b(?![`"'])/;

/** What follows a lead such as "Requirement Coverage:". */
function afterLead(text: string): string {
  return /^[^:\n]{1,60}:\s+(.*)$/s.exec(text)?.[1] ?? '';
}

function saysNothing(text: string): boolean {
  const match = NO_ISSUES.exec(text) ?? NOTHING.exec(text);
  return match !== null && !EXCEPTION.test(text.slice(match[0].length));
}

/** Praise as a statement has to go through to the end: a second clause may be what is wrong. */
function praises(text: string): boolean {
  if (RESERVATION.test(text.replace(HARMLESS, ''))) return false;
  return PRAISE_FIRST.test(text) || text.split(/[.;]\s+/).every((clause) => PRAISE.test(clause));
}

/** "No issues found.", "None.", "PASS (100%)", a pointer elsewhere, praise: words in a finding's place that are none. */
export function isNoFinding(finding: string): boolean {
  const text = finding.replace(/^[\s\p{Extended_Pictographic}\uFE0F✓✔*_"“(-]+/u, '').replace(/\s+/g, ' ');
  if (!/[\p{L}\p{N}]/u.test(text)) return true;
  const rest = afterLead(text);
  return (
    saysNothing(text) ||
    praises(text) ||
    VERDICT_ON_LLD.test(text) ||
    POINTER.test(text) ||
    (rest !== '' &&
      (saysNothing(rest) || (praises(rest) && !RESERVATION.test(text.slice(0, -rest.length).replace(HARMLESS, '')))))
  );
}

/** Whether a finding's text marks it as dealt with: struck out, or RESOLVED, FIXED, WITHDRAWN. */
export function saysSettled(finding: string): boolean {
  const firstLine = (finding.split('\n', 1)[0] ?? '').trim();
  if (/^\W{0,3}~~[^~]+~~/.test(firstLine)) return true;
  if (
    /\b(?:not|un|never|partially|must be|should be|to be|needs? to be)[\s-]*(?:yet |fully )?(?:resolved|fixed|settled|addressed)\b/i.test(
      firstLine,
    )
  )
    return false;
  return (
    SETTLED_FIRST.test(firstLine) ||
    SETTLED_FIRST.test(afterLead(firstLine)) ||
    SETTLED_LAST.test(firstLine) ||
    SETTLED_LOUD.test(firstLine)
  );
}
