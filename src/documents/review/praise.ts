const POSITIVE =
  'good|great|fine|excellent|solid|robust|strong|sound|nice|thorough|comprehensive|adequate|appropriate|acceptable|correct|proper|sufficient|safe|compliant|complete|consistent|commendable|exemplary|satisfactory|sensible|reasonable|approved|actionable|ready|clear|clean|concrete|fail-closed|in place|in line with|up to standard';
/** What was done right, if a word says that it was done right. */
const DONE =
  'set|defined|handled|specified|designed|bounded|scoped|addressed|documented|validated|sanitised|sanitized|isolated|structured|mitigated|stated|configured|tested|covered|implemented|considered|managed|enforced|planned|thought|named|included|justified|separated|licensed|licenced';
/** What is right by having been done at all. */
const GUARDED =
  'bounded|capped|enforced|masked|redacted|guarded|mitigated|prevented|avoided|isolated|validated|sanitised|sanitized|escaped|encrypted|respected|confirmed|verified|honou?red|covered|met|satisfied|accounted for|scoped to|limited to|(?:mit|bsd|isc|apache)(?:[ -][\\w.]+)?[ -]licen[sc]ed';
const ADVERB =
  '(?:well|correctly|properly|clearly|explicitly|fully|adequately|appropriately|nicely|sufficiently|strictly|effectively|carefully)';
const HARM =
  '(?:(?:sql|shell|command|code|prompt) injection|injection|(?:path|directory) traversal|traversal|runaway \\w+|waste|leaks?|leakage|data loss|loss of data|races?|race conditions|deadlocks?|abuse|corruption|collisions?|(?:resource )?exhaustion|infinite loops?|hangs?|duplication|interleaving|contention|overruns?|privilege escalation|xss|csrf)';

/** Praise may open with an adjective that no instruction and no complaint opens with: "Correct the path" is none. */
const PRAISE_FIRST = new RegExp(
  `^(?:looks? (?:${POSITIVE}|ok)\\b|well[\\s-]\\w+|(?:good|great|excellent|solid|robust|nice|nicely|thorough|comprehensive|adequate|appropriate|commendable|exemplary|sensible)\\b(?!-)` +
    `|(?:${POSITIVE})(?=\\s*$|[.,;!:]| and (?:${POSITIVE})\\b| (?:approach|design|choice|use|handling|strategy|separation|with the)\\b)` +
    `|${ADVERB}[\\s-](?:${DONE})\\b|(?:${DONE}|${GUARDED})(?=\\s*$|[.,;!]| (?:in|by|with|as|via|to|per)\\b))`,
  'i',
);
const BE = '(?:is|are|looks?|remains?|has been|have been|was|were)';
const PRAISE = new RegExp(
  `\\b${BE} (?:(?:very|quite|now|both|all|generally|already|in|also) ){0,2}(?:${ADVERB}[\\s-](?:${DONE}|${GUARDED})|well[\\s-]\\w+|(?:${POSITIVE})(?!-)|(?:${GUARDED}))\\b` +
    `|\\b(?:correctly|properly|effectively) (?:uses|handles|follows|identifies|prevents|addresses|defines|avoids|separates)\\b` +
    `|\\b(?:prevents?|avoids?|mitigates?|protects? against|guards? against|rules? out) (?:\\w+ ){0,2}${HARM}\\b` +
    `|\\b(?:follows|respects|adheres to|conforms to|complies with|aligns with|matches|in line with) (?:the |our |all |its )?(?:existing|established|current|project|repository|codebase|house|coding|standard|best|required|agreed)\\b` +
    `|\\b(?:has|have|defines?|names?|provides?|gives?|includes?|sets?) (?:an? |the |its own )?(?:explicit|clear|concrete|well-\\w+|sensible|proper|adequate|appropriate) \\w+` +
    `|\\b(?:${BE} |at )?100 ?%(?=\\W|$)|^(?:confirmed|verified)\\b`,
  'i',
);
const RESERVATION =
  /\b(?:but|however|although|though|except|yet|unless|until|must|should|shall|needs?|needed|requires?|missing|misses|lack(?:s|ing)?|unclear|ambiguous|vague|fails?|failed|failure|violat\w*|ensure|recommend\w*|consider|suggest\w*|not|never|cannot|no|without|risks?|un(?!der|i[tqfov]|til)\w{4,}|incorrect\w*|wrong|insufficient|inconsistent|breaks?|broken|crash\w*|leak\w*|infinite|conflict\w*|duplicat\w*|contradict\w*|race|please|add|specify|clarify|issues?|problems?|critical|block\w*|too|only|could|would|may|might|instead|hard-?coded|overwrit\w*|expos\w*|vulnerab\w*|insecure|hangs?|stale|omit\w*|absent|home directory|outside|than|disabled?|disagree\w*|deadlock\w*|exceed\w*|hides?|hidden|nothing|nowhere|none|neither|loses?|lost|evaluat\w*|eval|forever|exhaust\w*|weak\w*|partial\w*|most(?:ly)?|some|deprecated|twice|root)\b|n't\b|\?\s*$/i;

/** Things that a design is better without, when it is said that there are none of them. */
const ABSENT =
  /\b(?:no|zero|without(?: any)?) (?:(?:new|external|third-party|paid|extra|additional|elevated|destructive|special|outgoing|significant|direct|further|runtime) )*(?:pii|(?:personal|personally identifiable|sensitive|user|customer|private)(?: (?:data|information))?|dependenc(?:y|ies)|(?:(?:paid|external|network|api|llm|model|http) )*(?:api|calls?|requests?|access)|network|permissions?|privileges|(?:licen[cs](?:e|ing)|legal|cost|security|safety|privacy|compliance) (?:impact|implications?|concerns?|issues?|considerations?)|(?:additional |extra )?costs?|cost impact|secrets?|credentials?|side effects?|writes outside (?:of )?the \w+|state)(?: (?:is|are|was|were|will be))?(?: (?:processed|collected|stored|made|used|handled|involved|introduced|added|required|needed|transmitted|shared|exposed|logged|leaves? the (?:machine|process|repository|device)))?(?=\s*$|[.,;:!()–—]| (?:and|or|so|by|here|in|to)\b)/gi;
const NEVER_LOGGED =
  /\b(?:is|are) (?:never|not) (?:logged|stored|exposed|printed|transmitted|shared|persisted|committed|leaked)\b/gi;
const HARMLESS = new RegExp(
  `\\bno (?:further )?(?:changes?|action|issues?|concerns?|problems?|revisions?|violations?)(?: (?:is|are))?(?: (?:needed|required|necessary|found))?\\b` +
    `|\\bseparation of concerns\\b|\\bfail[s-]? ?(?:safe|closed|open|fast)\\b|\\bfail modes?\\b` +
    `|\\b(?:risks?|issues?) (?:is|are) (?:well |adequately |properly )?(?:mitigated|addressed|handled)\\b` +
    `|\\b(?:prevents?|avoids?|mitigates?|protects? against|guards? against|rules? out) (?:\\w+ ){0,2}${HARM}\\b|\\bas required\\b`,
  'gi',
);

/**
 * Praise in a finding's place. As a statement it has to go through to the end, because a second clause may be what is
 * wrong, and no word of it may hint at a fault: in doubt it is a finding.
 */
export function praises(text: string): boolean {
  if (hasReservation(text)) return false;
  if (PRAISE_FIRST.test(text)) return true;
  return text.split(/[.;](?:\s+|$)|:\s+/).every((clause) => !/\p{L}/u.test(clause) || approves(clause));
}

function approves(clause: string): boolean {
  if (PRAISE.test(clause)) return true;
  const rest = clause.replace(ABSENT, '').replace(HARMLESS, '');
  return !/\p{L}/u.test(rest.replace(/\b(?:so|and|or|by|here)\b/g, ''));
}

export function hasReservation(text: string): boolean {
  return RESERVATION.test(text.replace(ABSENT, '').replace(NEVER_LOGGED, 'is masked').replace(HARMLESS, ''));
}
