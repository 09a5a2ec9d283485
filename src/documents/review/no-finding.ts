import { hasReservation, praises } from './praise.ts';

/** Items under a tier that say that nothing is wrong, or that it no longer is. */

const ADJECTIVE =
  /(?:tier[\s-]?\d|blocking|high[\s-]priority|critical|major|significant|serious|further|new|additional|remaining|other|outstanding|open|material|immediate|specific|obvious|known|notable|apparent|real|unresolved|pending|more|cost|safety|security|legal|privacy|compliance|licen[cs]ing|architectur(?:e|al)|observability|quality|performance|design|structural)/
    .source;
const STATED =
  /(?:found|identified|detected|noted|observed|raised|present|apparent|outstanding|remain\w*|to report|at this (?:time|stage))/
    .source;
const NO_ISSUES = new RegExp(
  `^(?:there (?:are|is|were) |(?:i|we) (?:found|see|have|identified) )?(?:currently )?no (?:${ADJECTIVE}(?:,? (?:and |or )?|/))*` +
    `(?:(?:issues?|concerns?|findings?|problems?|blockers?|violations?|suggestions?|comments?|objections?)` +
    `(?=\\s*(?:$|[.,;:!()–—]|- |(?:(?:are|were|is|was|have been) )?${STATED}\\b|(?:here|in|with|at|for|from|regarding|related|beyond)\\b))` +
    `|(?:risks?|gaps?|questions?|items?|changes|improvements?|actions?)(?=\\s*(?:$|[.,;:!()–—]|(?:were |are )?(?:found|identified|needed|required|necessary)\\b)))`,
  'i',
);
const NOTHING =
  /^(?:none(?: (?:found|identified|noted|at this time|so far))*|n\/?a|nil|nothing(?: (?:to (?:report|flag|add)|found|blocking))?|not applicable|ok(?:ay)?|pass(?:ed|es)?|clear|clean|compliant|satisfied|met|lgtm|all (?:good|clear|pass(?:ed)?|checks? pass(?:ed)?|requirements met))(?=\s*$|\s*[.,;:!(]|\s+[–—-]\s)/i;
const EXCEPTION =
  /\b(?:except|apart from|aside from|other than|besides|however|though|although|save for|that said|nevertheless)\b|,? but\b/i;

const POINTED = /,? (?:but|however,?) (?:please )?(?:see|refer to)\b[^.]*/i;

const VERDICT_ON_LLD =
  /^(?:the |this )?(?:lld|design|issue|draft|document) (?:is|can be|looks) (?:approved|actionable|ready|acceptable)\b/i;
const POINTER = /^(?:(?:see|refer to)\b[^.]{0,70}|as (?:noted|discussed|above|per)\b[^.,;:–—]{0,50})\.?$/i;
const SETTLED_WORD = '(?:resolved|fixed|settled|addressed|withdrawn|closed|done)';
const SETTLED_FIRST = new RegExp(`^\\W*${SETTLED_WORD}\\b(?=\\s*(?:$|[:.;,–—()]|- |in\\b|by\\b|since\\b))`, 'i');
const SETTLED_LAST = new RegExp(`(?:[–—:(\\[]|[.!?~] |- )\\s*(?:now )?${SETTLED_WORD}[\\s.)\\]✓✅]*$`, 'i');
/** In capitals it is a mark; "the file is never closed" is what is wrong. */
const SETTLED_LAST_LOUD = new RegExp(`(?<!\\b(?:NOT|NEVER))\\s${SETTLED_WORD.toUpperCase()}[\\s.)\\]✓✅]*$`);
const SETTLED_LOUD =
  /(?<!\b(?:NOT|not|be|NOT YET|not yet) )(?<![`"'\w])\b(?:RESOLVED|FIXED|SETTLED|ADDRESSED|WITHDRAWN)\b(?![`"'])/;

/** What follows a lead such as "Requirement Coverage:". */
function afterLead(text: string): string {
  return /^[^:\n]{1,60}:\s+(.*)$/s.exec(text)?.[1] ?? '';
}

function saysNothing(text: string): boolean {
  const match = NO_ISSUES.exec(text) ?? NOTHING.exec(text);
  return match !== null && !EXCEPTION.test(text.slice(match[0].length).replace(POINTED, ''));
}

/** "No issues found.", "None.", "PASS (100%)", a pointer elsewhere, praise: words in a finding's place that are none. */
export function isNoFinding(finding: string): boolean {
  const text = finding.replace(/^[\s\p{Extended_Pictographic}\uFE0F✓✔*_"“(-]+/u, '').replace(/\s+/g, ' ');
  if (!/[\p{L}\p{N}]/u.test(text)) return true;
  const rest = afterLead(text);
  if (/^\W*[✓✔✅☑]/u.test(finding) && !hasReservation(text)) return true;
  return (
    saysNothing(text) ||
    praises(text) ||
    VERDICT_ON_LLD.test(text) ||
    POINTER.test(text) ||
    (rest !== '' && (saysNothing(rest) || ((praises(rest) || /^[✓✔✅☑]/u.test(rest)) && !hasReservation(text))))
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
    SETTLED_LAST_LOUD.test(firstLine) ||
    SETTLED_LOUD.test(firstLine)
  );
}
