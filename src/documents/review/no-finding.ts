/** Items under a tier that say that nothing is wrong, or that it no longer is. */

/** "No issues found.", "None.", "PASS (100%)": words in a finding's place that say that there is none. */
const NO_ISSUES =
  /^(?:there (?:are|is|were) |(?:i|we) (?:found|see|have|identified) )?(?:currently )?no (?:[\w/-]+,? (?:and |or )?){0,4}?(?:issues?|concerns?|findings?|problems?|blockers?|violations?|suggestions?|comments?|objections?|questions?)(?=\s*(?:$|[.,;:!()–—]|- |(?:(?:are|were|is|was|have been) )?(?:found|identified|detected|noted|raised|remain\w*|present|to report|at this)\b|(?:here|in|with|at|for|from|regarding|related|beyond)\b))/i;
const NOTHING =
  /^(?:none(?: (?:found|identified|noted|at this time|so far))*|n\/?a|nil|nothing(?: (?:to (?:report|flag|add)|found|blocking))?|not applicable|ok(?:ay)?|pass(?:ed|es)?|clear|compliant|met|lgtm|all (?:good|clear)|ningun[oa]|nenhuma?|nessun[oa]|aucune?|keine)(?=\s*$|\s*[.,;:!()\]]|\s+[–—-]\s)/i;
const EXCEPTION =
  /\b(?:except|apart from|aside from|other than|besides|however|though|although|save for|nevertheless)\b|,? but\b(?! (?:please )?(?:see|refer to)\b)/i;
const ELSEWHERE =
  /^(?:(?:see|refer to)\b[^.]{0,70}\.?|(?:the |this )?(?:lld|design|issue|draft|document) (?:is|can be|looks) (?:approved|ready|acceptable)\b.*)$/i;
/** Praise has a good word in every clause, and none that asks for anything. In doubt it is a finding. */
const GOOD =
  /\b(?:good|well|excellent|solid|robust|sound|thorough|comprehensive|adequate|appropriate|acceptable|clear|clearly|clean|consistent|compliant|correctly|properly|explicit|explicitly|confirmed|verified|in place|capped|enforced|masked|prevented|bounded|covered|isolated|validated|saniti[sz]ed|mitigated|fail[- ]closed|licen[sc]ed|never logged|(?:existing|established) patterns|100 ?%|no (?:personal data|concerns|cost impact|elevated permissions|new (?:dependencies|licen[cs]e)|external (?:api )?calls are made))\b/i;
const ASKS =
  /\b(?:but|however|although|except|unless|until|must|should|needs?|requires|missing|lack\w*|unclear|ambiguous|vague|fails?|failure|violat\w*|ensure|recommend\w*|consider|suggest\w*|not|cannot|without|un(?!der|i[tqfov]|til)\w{4,}|wrong|incorrect\w*|insufficient|break\w*|crash\w*|leak\w*|infinite|conflict\w*|duplicat\w*|contradict\w*|please|add|specify|clarify|problem\w*|critical|too|only|could|would|may|might|instead|outside|disabled?|disagree\w*|deadlock\w*|exceed\w*|hides?|below|eval|home directory)\b|n't\b|\?\s*$/i;

export function isNoFinding(finding: string): boolean {
  const text = finding.replace(/^[\s\p{Extended_Pictographic}\uFE0F✓✔*_"“(-]+/u, '').replace(/\s+/g, ' ');
  if (!/[\p{L}\p{N}]/u.test(text)) return true;
  const rest = afterLead(text);
  const isTicked = /^\W*[✓✔✅☑]/u.test(finding) || /^[✓✔✅☑]/u.test(rest);
  const asks = ASKS.test(text.replace(/\bfail(?: mode|[- ](?:closed|open|safe|fast))/gi, 'closed'));
  return saysNothing(text) || (rest !== '' && saysNothing(rest)) || ((isTicked || praises(text)) && !asks);
}

function saysNothing(text: string): boolean {
  const match = NO_ISSUES.exec(text) ?? NOTHING.exec(text);
  return match === null ? ELSEWHERE.test(text) : !EXCEPTION.test(text.slice(match[0].length));
}

function praises(text: string): boolean {
  const clauses = (afterLead(text) || text).split(/[.;](?:\s+|$)/).filter((clause) => /\p{L}/u.test(clause));
  return clauses.every((clause) => GOOD.test(clause));
}

/** What follows a lead such as "Requirement Coverage:". */
function afterLead(text: string): string {
  return /^[^:\n]{1,60}:\s+(.*)$/s.exec(text)?.[1] ?? '';
}

const SETTLED = '(?:resolved|fixed|settled|addressed|withdrawn|closed|done)';
const SETTLED_FIRST = new RegExp(`^\\W*${SETTLED}\\b(?=\\s*(?:$|[:.;,–—()]|- |in\\b|by\\b|since\\b))`, 'i');
const SETTLED_LAST = new RegExp(`(?:[–—:(\\[]|[.!?~] |- )\\s*(?:now )?${SETTLED}[\\s.)\\]✓✅]*$`, 'i');
/** In capitals it is a mark; "the file is never closed" is what is wrong. */
const SETTLED_LOUD = new RegExp(
  `(?<!\\b(?:NOT|not|NEVER|be|NOT YET|not yet) )(?<![\`"'\\w])\\b(?:RESOLVED|FIXED|SETTLED|ADDRESSED|WITHDRAWN|CLOSED(?=\\W*$))\\b(?![\`"'])`,
);
const NOT_SETTLED =
  /\b(?:not|un|never|partially|must be|should be|to be|needs? to be)[\s-]*(?:yet |fully )?(?:resolved|fixed|settled|addressed)\b/i;

/** Whether a finding's text marks it as dealt with: struck out, or RESOLVED, FIXED, WITHDRAWN. */
export function saysSettled(finding: string): boolean {
  const firstLine = (finding.split('\n', 1)[0] ?? '').trim();
  if (/^\W{0,3}~~[^~]+~~/.test(firstLine)) return true;
  if (NOT_SETTLED.test(firstLine)) return false;
  return (
    SETTLED_FIRST.test(firstLine) ||
    SETTLED_FIRST.test(afterLead(firstLine)) ||
    SETTLED_LAST.test(firstLine) ||
    SETTLED_LOUD.test(firstLine)
  );
}
