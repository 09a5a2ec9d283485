const words = (list: string) => new Set(list.split(/\s+/));

/** Words that judge without saying by what measure. */
const JUDGEMENT = words(`
  works work working worked correct correctly correctness proper properly fine good well nice nicely great expected
  intended designed desired anticipated ok okay right reasonable reasonably appropriate appropriately acceptable
  acceptably satisfactory sensible sensibly sensible graceful gracefully smooth smoothly seamless seamlessly behaves
  behave functions looks look seems appears fast quick quickly enough performant efficient efficiently intuitive
  friendly usable happy satisfied specified described documented meets met fulfilled perfect perfectly sane robust
  reliable reliably valid expect consistent meaningful suitable adequate adequately flawless flawlessly`);

/** Things and doings that any test has. */
const GENERIC = words(`
  output outputs result results response behaviour behavior function functionality feature features system code
  implementation module component command test tests scenario case check checks page ui app application program process
  operation endpoint api call request value values data file files state user users experience message error errors
  exception exceptions handling handled handles returned returns return produced produces shown displayed generated
  rendered observed passes pass passed verify verified verifies checked ensure ensures confirm confirmed performance time speed loads
  runs run completes complete completed finishes finished executes executed processed processing updated saved stored
  loaded parsed created written requirement requirements spec specification criteria outcome format content logic flow
  issue issues problem problems succeeds success successful successfully green expectations expectation conditions
  condition met action display displays render renders update updates saves parses cases load validated tested step steps everything thing things method input`);

const FILLER = words(`
  the a an is are be been was were should must shall will would can it its this that these those there to of in on at
  by for with without and or as all every each any no not per according within under when if then still also both
  same how what given from does do did has have had just very quite fully completely totally always we i you our`);

const PASSING = words(
  'test tests scenario case check checks suite pass passes passed passing success successful successfully succeeds succeed green ok done yes',
);

const NOTHING =
  /^\W*(?:n\/?a|none|tbd|tba|todo|to be (?:determined|defined|decided|done)|pending|unknown|same(?: as (?:above|before|previous))?|see (?:above|below)|ditto|idem|as above|works?|(?:is |was )?(?:verified|validated|checked|tested)|xxx+)?\W*$/i;
const WORKS =
  /^(?:[^\s,;.]+\s+){0,6}?(?:works?|working|functions|behaves?|operates?|performs)(?:\s+(?:correctly|properly|fine|well|as\s+(?:expected|intended|designed|specified|described|required|desired|it\s+should)|perfectly|smoothly|reliably|good|like\s+it\s+should|right|as\s+before|in\s+all\s+cases|under\s+load))*\W*$/i;
const IS_RIGHT =
  /^(?:[^\s,;.]+\s+){1,5}?(?:is|are|looks?|seems?|appears?)\s+(?:all\s+)?(?:correct|right|ok|okay|fine|good|great|proper|appropriate|acceptable|reasonable|as\s+(?:expected|intended|designed|desired|it\s+should(?:\s+be)?)|handled(?:\s+(?:correctly|properly|gracefully|appropriately|well))?)\W*$/i;
const DONE_RIGHT =
  /^(?:[^\s,;.]+\s+){1,5}?(?:correctly|properly|appropriately|gracefully|as\s+(?:expected|intended|designed|desired))\W*$/i;
const NO_TROUBLE =
  /^\W*(?:(?:runs?|completes?|finishes|executes|passes)\s+)?(?:there (?:are|is) )?(?:no|without(?: any)?|zero)\s+(?:errors?|exceptions?|crash(?:es)?|failures?|warnings?|issues?|problems?)(?:\s+(?:or|and|nor)\s+(?:errors?|exceptions?|crash(?:es)?|failures?|warnings?|issues?|problems?))*(?:\s+(?:occurs?|happens?|(?:is|are)?\s*(?:thrown|raised|shown|seen|reported)))?\W*$/i;
const BY_REFERENCE =
  /^(?:[^\s,;.]+\s+){0,4}?(?:match(?:es)?|equals?|(?:is|are) (?:equal to|the same as)|same as|as in|see|identical to)\s+(?:the\s+)?expected(?:\s+(?:output|result|value|outcome|response|behaviou?r|column)s?)?\W*$/i;

/** Something a program could compare with: a number, a quotation, an operator, a code span that is more than a name. */
const CONCRETE =
  /\d|["“”'‘][^"“”'’]{2,}["“”'’]|[=<>≤≥≠]|`[^`]*[\s=<>()[\]{}:"'][^`]*`|\b(?:true|false|null|undefined|None|empty|nil)\b/;

/**
 * Whether a pass criterion can't be checked by a program. A criterion that leans on the expected output ("matches the
 * expected output", "no errors") is as good as that output. In doubt a criterion is concrete.
 */
export function isVague(pass: string, expected: string): boolean {
  const text = pass
    .replace(/[*_~](?=\W|$)|(?<=\W|^)[*_~]/g, '')
    .replace(/\breq(?:uirement)?s?[\s-]*(?:R-?)?\d+\b|\bR-?\d+\b/gi, 'requirement')
    .replace(/\b100\s?%/g, 'fully')
    // The number in a name (`item42`, sha256) is no value to compare with.
    .replace(/^`[\w.$()-]+`|(?<![\w`])[a-z_]+\d\w*/i, 'name')
    .trim();
  if (NOTHING.test(text)) return true;
  if (CONCRETE.test(text)) return false;
  if (NO_TROUBLE.test(text) || BY_REFERENCE.test(text)) return !isUsable(expected);
  if (WORKS.test(text) || IS_RIGHT.test(text)) return true;
  if (DONE_RIGHT.test(text) && !isUsable(expected)) return true;
  return saysNothing(text);
}

function isUsable(expected: string): boolean {
  const isOnlyNamed = wordsOf(expected).every((word) => GENERIC.has(word) || /^(?:the|an?|is|are|of|and)$/.test(word));
  return !isOnlyNamed && !isVague(expected, '');
}

function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/`[^`]*`|[\p{L}\p{N}'-]+/gu) ?? [];
}

function saysNothing(text: string): boolean {
  const said = wordsOf(text);
  if (said.every((word) => FILLER.has(word))) return true;
  if (said.every((word) => PASSING.has(word) || FILLER.has(word))) return true;
  const isEmptyTalk = said.every((word) => JUDGEMENT.has(word) || GENERIC.has(word) || FILLER.has(word));
  if (!isEmptyTalk) return false;
  return (
    said.some((word) => JUDGEMENT.has(word) || word.startsWith('handl')) ||
    /^(?:verif|check|ensure|confirm|test)/.test(said[0] ?? '')
  );
}
