export type LoopKind = 'retry' | 'poll' | 'loop' | 'wait';

interface Phrase {
  kind: LoopKind;
  /** An open phrase says itself that there is no end; a plain one only brings a loop in, and may be bounded elsewhere. */
  open: boolean;
  pattern: RegExp;
}

const ENDLESS = String.raw`(?:forever|indefinitely|endlessly|infinitely|perpetually|ad infinitum|as long as (?:it takes|needed|necessary|required)|as (?:often|many times) as (?:needed|necessary|it takes|required)|(?:without|with no) (?:a |any )?(?:limit|bound|end|cap|maximum|timeout|time-out|deadline|upper bound))`;
const UNTIL = String.raw`(?:${ENDLESS}|until|till)`;
const RETRY = String.raw`(?:re-?tr(?:y|ies|ied|ying)|re-?attempt(?:s|ed|ing)?|tr(?:y|ies|ying) again|tried again|re-?send(?:s|ing)?|re-?sent|re-?request(?:s|ing)?)`;

const open = (kind: LoopKind, source: string): Phrase => ({ kind, open: true, pattern: new RegExp(source, 'iu') });
const plain = (kind: LoopKind, source: string): Phrase => ({ kind, open: false, pattern: new RegExp(source, 'iu') });

/** Open phrases first: the first that fits names the finding. */
const PHRASES: Phrase[] = [
  open('retry', String.raw`(?<![-\w])${RETRY}\b[^.;]{0,60}?\b${UNTIL}\b`),
  open(
    'retry',
    String.raw`\b(?:keep|keeps|keep on|keeps on|continue|continues|continue to|continues to|repeatedly|endlessly|constantly|continuously) (?:on )?(?:re-?try(?:ing)?|re-?tries|try(?:ing)?|tries|attempt(?:s|ing)?|re-?send(?:s|ing)?)\b`,
  ),
  open(
    'retry',
    String.raw`\b(?:tr(?:y|ies|ying)|attempt(?:s|ing)?)\b[^.;,]{0,40}?\buntil (?:it|they|this|that|one|the \w+) (?:succeed|work|pass|complete|answer|respond|connect)\w*|\b(?:tr(?:y|ies)|attempts?) to\b[^.;]{0,60}?\buntil success`,
  ),
  open(
    'retry',
    String.raw`\b(?:unlimited|infinite|endless|unbounded) (?:number of )?(?:re-?tries|re-?try|attempts|tries)\b`,
  ),
  open('retry', String.raw`\bnever gives? up\b`),
  open(
    'retry',
    String.raw`(?<![-\w])re-?(?:run|connect|start|issue|execute|submit|queue|fetch|generat|ask|prompt|comput)(?:e?s|e|ning|ing|ed)?\b[^.;]{0,60}?\b${UNTIL}\b`,
  ),
  open(
    'poll',
    String.raw`(?<!\b(?:a|an|the|this|each|every|any|new|per) )(?<![-\w])poll(?:s|ed|ing)?\b[^.;]{0,80}?\b${UNTIL}\b`,
  ),
  open(
    'poll',
    String.raw`\b(?:keep|keeps|keep on|keeps on|continue|continues|continue to|continues to|repeatedly|continuously|constantly) (?:poll(?:s|ing)?|check(?:s|ing)? (?:the|for|whether|if)|query(?:ing)?|queries|asking|asks)\b`,
  ),
  open(
    'loop',
    String.raw`\b(?:loop|loops|looping|iterate|iterates|iterating|repeat|repeats|repeated|repeating|cycle|cycles)\b[^.;]{0,80}?\b${UNTIL}\b`,
  ),
  open('loop', String.raw`\b(?:infinite|endless|unbounded|never-ending|perpetual) (?:\w+ )?loops?\b`),
  open('loop', String.raw`\b(?:again|repeatedly|over and over)\b[^.;]{0,40}?\b${UNTIL}\b`),
  open(
    'loop',
    String.raw`\bkeeps? (?:on )?(?:calling|asking|sending|requesting|checking|reading|querying|fetching|spinning|pinging|probing|generating)\b`,
  ),
  open(
    'loop',
    String.raw`\bspin(?:s|ning)?\b[^.;]{0,40}?\b${UNTIL}\b|\bbusy-?\s?wait\w*|\bruns? (?:forever|indefinitely|endlessly)\b`,
  ),
  open('loop', String.raw`\bwhile\s*\(?\s*(?:true|1)\b|\bfor\s*\(\s*;\s*;\s*\)|\bwhile-true\b`),
  open(
    'wait',
    String.raw`\b(?:wait|waits|waiting|block|blocks|blocking|sleep|sleeps|hang|hangs|pause|pauses)\b[^.;]{0,60}?\b${ENDLESS}\b`,
  ),
  open('wait', String.raw`\b(?:infinite|unlimited|endless) (?:wait|time-?out)s?\b`),
  open(
    'wait',
    String.raw`\b(?:request|call|fetch|read|connect|query|queri|download)(?:s|es|ed|ing)?\b[^.;,]{0,40}?\b(?:without|with no) (?:a |any )?(?:time-?out|deadline)\b`,
  ),
  plain(
    'retry',
    String.raw`(?<![-\w@./])(?<!\b(?:to|on|each|every|per|between|the|this|that|any|next|before|after|of|for|future|later|old|existing|manual|manually|first|second|last|final|can|may|could|might|can be|may be|could be|might be|safe to|no|a safe) )${RETRY}\b(?![-\w(=:/]|\s+(?:button|polic|count|header|option|flag|limit|budget|command|link|hint|message|semantic|queue|behaviou?r|state|status|error|decision|class|field|column|path|safe|able|by hand|manually|cap\b|bound)|\s*$|\s+or\b|\s*,)`,
  ),
  plain(
    'retry',
    String.raw`\bre-?tr(?:y|ies) (?:loop|logic|mechanism|strategy|with)\b|\b(?:wait|sleep|back off|backoff)s? and (?:then )?(?:re-?tr(?:y|ies)|tr(?:y|ies) again)\b|\b(?:is|are|gets?) (?:automatically |then )?re-?tried\b`,
  ),
  plain(
    'poll',
    String.raw`(?<!\b(?:a|an|the|this|each|every|any|new|per) )(?<![-\w])poll(?:s|ed|ing)? (?:the|for|every|at|its|whether|if|each|again|loop)\b|\bby polling\b`,
  ),
  plain(
    'loop',
    String.raw`\b(?:go|goes|jump|jumps|return|returns) back to step \d|\b(?:repeat|repeats|restart|restarts) from step \d`,
  ),
  plain('wait', String.raw`(?<![-\w])(?:wait|waits|waiting) (?:for|until|till|on)\b|\bblocks? (?:until|till)\b`),
];

/** No phrase is without one of these. Most sentences have none, and one look is cheaper than all the phrases. */
const HINT =
  /until|till|forever|indefinitely|endless|infinite|perpetual|ad infinitum|as long as|as often as|as many times as|without|with no|re-?tr[yi]|re-?attempt|tr(?:y|ies|ying|ied) again|re-?sen[dt]|re-?request|keep|continu|repeatedly|constantly|never g|unlimited|unbounded|never-ending|poll|busy|while|for\s*\(|step|wait/i;

/** Ends that lie in finite data or in somebody's hand. */
const NATURAL_END =
  /\b(?:until|till|while)\b[^.;]{0,50}?\b(?:end of|eof|empty|exhausted|consumed|drained|no (?:more )?\w+(?: \w+)? (?:is |are )?(?:left|remain\w*|found|found any more|more)|no more|nothing (?:is )?(?:left|remains)|all (?:\w+ ){1,3}(?:are|is|have|has|were)\b|every \w+ (?:is|has)|each \w+ (?:is|has)|last|leaf|leaves|root|base case|closed|closes|shut ?down|stopped|stops|stop|sigterm|sigint|signal|ctrl|cancel\w*|abort\w*|interrupt\w*|killed|exits?|quits?|unmount\w*|unsubscrib\w*|dispos\w*|user (?:presses|clicks|closes|leaves|stops))\b/i;
const OVER_DATA =
  /\b(?:for each|for every|over (?:the|all|each|every|a|its)|once per|through (?:the|all|each)|in (?:a )?(?:fixed|finite))\b/i;
const LEAVES_LOOP =
  /\b(?:breaks?|exits?|ends?|stops?|terminates?|returns?|leaves?) (?:out )?(?:when|once|after|as soon as|at|on|if)\b|\bthat (?:breaks|ends|stops|returns|terminates)\b/i;

const NUMBER = String.raw`(?:\d+(?:[.,_]\d+)*|one|two|three|four|five|six|seven|eight|nine|ten|twelve|twenty|thirty|a few|several|a fixed number of|a single|N|n|max\w*|\x60[^\x60]+\x60)`;
const UNIT = String.raw`(?:ms|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|days?)`;
const COUNTED = String.raw`(?:times|attempts?|re-?tries|re-?try|tries|iterations?|rounds?|passes|cycles|polls?|repetitions?|loops?|steps?|requests?|more)`;
const BOUND = new RegExp(
  [
    String.raw`\bmax(?:imum|imal|imally)?\b|\bmax[_-]?[a-z]\w*|\bMAX_\w+`,
    String.raw`\bat most\b|\bup to\b|\b(?:no|not) (?:more|longer) than\b|\bfewer than\b|\bless than\b`,
    String.raw`(?<!rate[ -])\blimit(?:ed|s|ing)?\b(?!er)`,
    String.raw`\bcap(?:ped|s)?\b|\bbounded\b|\bbounds?\b(?! to\b)|\bfinite\b|\bceiling\b|\bupper bound\b`,
    String.raw`\btime(?:s|d)?[ -]?outs?\b|\w*timeout\w*|\bdeadline\b|\bwatchdog\b|\bcircuit[ -]breaker\b|\babort ?signal\b|\bbudget\b|stop_after_attempt`,
    String.raw`\b(?:once|twice|thrice)\b(?! (?:the|it|this|that|they|a|all|every|per|done|ready|available|complete))`,
    String.raw`(?<!step )(?<!steps )(?<!\w)${NUMBER}(?: (?:more|further|additional|consecutive|total|failed))? ?${COUNTED}\b`,
    String.raw`\b(?:attempts?|re-?tries|tries|iterations?|rounds?)\s*(?:=|:|<|<=|≤|of)\s*\d`,
    String.raw`\b(?:gives?|giving|gave) up\b(?<!never gives up)(?<!never give up)|\b(?:stops?|aborts?|fails?|ends?|exits?|errors? out) after\b`,
    String.raw`\b(?:within|for|under|of|or|over|exceeds?|exceeding) (?:at most |up to |another |about )?${NUMBER} ?${UNIT}\b`,
    String.raw`[<≤] ?\d+ ?${UNIT}\b`,
    String.raw`\bexhaust(?:ed|s)\b`,
  ].join('|'),
  'giu',
);
const LACK = /\b(?:no|without|without a|without any|with no|lacks?|lacking|missing|never|not|any|un)[\s-]*$/i;

const KIND_WORDS: Record<LoopKind, RegExp> = {
  retry: /re-?tr(?:y|ies|ied)|attempt|\btries\b|backoff|tenacity/i,
  poll: /poll|attempt|iteration|loop|wait|time-?out|deadline/i,
  loop: /loop|iterat|repeat|repetition|round/i,
  wait: /wait|time-?out|deadline|block|abort|attempt|poll/i,
};

const NEGATION =
  /\b(?:no|not|never|without|neither|nor|cannot|can't|avoid\w*|prevent\w*|instead of|rather than|forbid\w*|prohibit\w*|disallow\w*|guard\w*|protect\w*|eliminat\w*|remov\w*|replac\w*|detect\w*|reject\w*|zero|nothing|none|nobody|free of|against|no longer|refus\w*|exclud\w*|stop\w*|drop\w*|less|than)\b|n't\b/i;
const NEGATED_LIST =
  /\b(?:no|without|without any|neither|zero|never)\s+(?:[\p{L}\p{N}-]+ ?){1,3}(?:,\s*(?:or |and |nor )?|\s+(?:or|and|nor)\s+)(?:(?:[\p{L}\p{N}-]+ ?){1,3}(?:,\s*(?:or |and |nor )?|\s+(?:or|and|nor)\s+))*(?:[\p{L}-]+ )?$/iu;
const DENIED_AFTER =
  /^\W*(?:(?:is|are|was|were|will be)\s+(?:not|never|rejected|avoided|forbidden|disallowed|unnecessary|impossible|ruled out|out of scope|left to|disabled|turned off)|(?:(?:can|may|will|must|should|is|are|gets?|would)\s+(?:then\s+)?(?:be\s+)?(?:killed|stopped|aborted|terminated|interrupted|detected|refused|cut off|ended))\b|by (?:the |a |its |every )?(?:users?|callers?|operators?|person|developers?|people|client|browsers?|broker|platform|framework|sdk|load balancer|proxy|database|kernel)\b|(?:is|are) (?:safe|harmless|possible)\b|(?:isn't|aren't|not)\b|[:=|]\s*(?:none|no\b|0\b|n\/a|never|not))/i;
const PEOPLE =
  /\b(?:users?|callers?|operators?|persons?|people|you|developers?|humans?|maintainers?|someone|somebody|reviewers?|customers?|consumers?|orchestrator)\b[^,;.]{0,25}$/i;
const FOR_PEOPLE =
  /^\W*(?:no one\b|nobody\b)|^\W*(?:an? |the |any |user |explicit |human )*(?:approval|review|reviewer|person|human|user|users|input|confirmation|orchestrator|click|decision|answer from|key ?press|keypress|somebody|someone|operator)\b/i;
const NOT_INTRODUCED =
  /\b(?:currently|today|at present|until now|previously|formerly|before this change|used to|legacy|considered|was rejected|were rejected|is rejected|alternative(?:ly)?)\b/i;

export interface LoopPhrase {
  kind: LoopKind;
  open: boolean;
  text: string;
}

/** The loop, retry or wait that a sentence brings into the design, or null; one that is denied is not brought in. */
export function loopIn(sentence: string): LoopPhrase | null {
  if (!HINT.test(sentence) || NOT_INTRODUCED.test(sentence)) return null;
  for (const { kind, open: isOpen, pattern } of PHRASES) {
    const match = pattern.exec(sentence);
    if (!match) continue;
    const before = sentence.slice(0, match.index);
    const after = sentence.slice(match.index + match[0].length);
    if (isDenied(before, after)) continue;
    if (PEOPLE.test(clauseOf(before)) || (kind === 'wait' && !isOpen && FOR_PEOPLE.test(after))) continue;
    if (!isOpen && sentence.slice(match.index - 1, match.index) === '`') continue;
    if (kind !== 'retry' && endsByItself(sentence.slice(match.index), kind)) continue;
    return { kind, open: isOpen, text: match[0] };
  }
  return null;
}

function endsByItself(rest: string, kind: LoopKind): boolean {
  if (NATURAL_END.test(rest)) return kind !== 'wait';
  return kind === 'loop' && (OVER_DATA.test(rest.split(/\buntil\b/i)[0] ?? '') || LEAVES_LOOP.test(rest));
}

function isDenied(before: string, after: string): boolean {
  if (DENIED_AFTER.test(after) || NEGATED_LIST.test(before.slice(-120))) return true;
  const clause = clauseOf(before);
  // "If the file does not exist wait …": the denial is about the condition, unless it stands right before the verb.
  const isCondition = /^\s*(?:\d+[.)]\s*)?(?:[-*]\s*)?(?:if|when|while|unless|once|whenever|on|where)\b/i.test(clause);
  const words = clause.trim().split(/\s+/);
  return NEGATION.test(words.slice(isCondition ? -2 : -6).join(' '));
}

/** The words since the last comma, bracket or conjunction. */
function clauseOf(before: string): string {
  return before.split(/[,.;:()—–|]|\b(?:but|then|otherwise|else|so)\b/i).at(-1) ?? '';
}

/** How long one turn takes says nothing of how many there are. */
const PACE = new RegExp(
  String.raw`\bevery (?:${NUMBER} ?)?${UNIT}\b|\b(?:interval|delay|pause|back-?off|period|gap)s?(?: of| is|:|=)? ${NUMBER} ?${UNIT}\b`,
  'giu',
);
const REST = new RegExp(
  String.raw`\b(?:sleep|wait|pause|back off|rest|delay)(?:s|ing)?(?: for)? (?:about )?${NUMBER} ?${UNIT}\b`,
  'giu',
);

/** `Retries on a timeout`: there the timeout begins the retry. */
const TIMEOUT_AS_CAUSE =
  /\b(?:on|after|upon|when|if|for|of) (?:an? |the |it |every |each |\w+ )?(?:time-?outs?|times? out)\b(?! of)/gi;

/** Whether a text names a bound for this kind of loop; "no limit" is none. */
export function hasBound(text: string, kind: LoopKind): boolean {
  const paced = text.replace(PACE, ' ');
  const rested = kind === 'wait' ? paced : paced.replace(REST, ' ');
  const quiet = kind === 'retry' ? rested.replace(TIMEOUT_AS_CAUSE, ' ') : rested;
  for (const match of quiet.matchAll(BOUND)) {
    if (!LACK.test(quiet.slice(Math.max(0, match.index - 16), match.index))) return true;
  }
  return false;
}

/** Whether a sentence somewhere else bounds this kind of loop. */
export function boundsKind(text: string, kind: LoopKind): boolean {
  return KIND_WORDS[kind].test(text) && hasBound(text, kind);
}
