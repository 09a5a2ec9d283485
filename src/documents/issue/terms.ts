/** A word of a text, in the form in which two texts are compared. */
export interface Term {
  key: string;
  /** As written, for messages. */
  written: string;
  /** Paths and identifiers say more than words: two texts that name the same one speak of the same thing. */
  weight: number;
}

const CODE_WEIGHT = 2;
/** The words that a name is made of, beside the name itself. */
const PART_WEIGHT = 0.5;
const SHORTEST = 3;
/** Longer ones are hashes, tokens and data. */
const LONGEST = 60;
const IS_CODE = /[/_@]|\.\p{L}|\p{Ll}\p{Lu}|\p{L}::?\p{L}/u;
const PART = /\p{Lu}?[\p{Ll}]+|\p{Lu}+(?!\p{Ll})|\p{L}+|\p{N}+/gu;

/** Words of any text, and words that every issue has because it is one. */
const STOP_WORDS = new Set(
  (
    'about above after again against all also although always and another any anybody anyone anything are around because ' +
    'been before being below between both but can cannot could did does doing done down during each either else enough even ' +
    'ever every everybody everything few for from further get gets getting give given gives going had has have having help ' +
    'her here his how however instead into its itself just keep know large last later least less let like look made make ' +
    'makes making many may maybe might more most much must need needed needs neither never new next nobody none nor not ' +
    'nothing now off often old once one only onto other others our out over own per please put rather really same say says ' +
    'see seen several shall she should show shows since small some somebody someone something sometimes soon still such sure ' +
    'take taken takes than that the their them then there these they thing things this those though through thus too toward ' +
    'try two under until upon use used user users uses using usual very via want wants was way well were what whatever when ' +
    'where whether which while who whole whose why will with within without work works would yes yet you your ' +
    'acceptance add added adds allow allows brief bug case change changed changes criteria criterion definition description ' +
    'done epic expected feature idea implement implementation improve improvement issue none objective open out problem ' +
    'question questions requirement requirements scenario scenarios scope story support supported supports task test tests ' +
    'ticket todo update http https www com'
  ).split(' '),
);

/** One form for a word and its inflections; not a dictionary, only the same on both sides of a comparison. */
function stem(word: string): string {
  const bare = word
    .replace(/(?<=[^aeiou])(?:ies|ied)$/, 'y')
    .replace(/(?<=\p{L}{3})(?:ing|ed|es|s)$/u, (ending) => (ending === 's' && /ss$|us$|is$/.test(word) ? ending : ''));
  const single = bare.replace(/([bdfgklmnprt])\1$/, '$1');
  return single.length > 3 ? single.replace(/e$/, '') : single;
}

/** What one token is worth: nothing, a word, or a name with the words that it is made of. */
export function termsOfToken(token: string): Term[] {
  if (token.length < SHORTEST || token.length > LONGEST) return [];
  if (!IS_CODE.test(token)) return token.includes('-') ? token.split(/-+/).flatMap(termOfWord) : termOfWord(token);
  const parts = (token.match(PART) ?? []).flatMap(termOfWord).map((part) => ({ ...part, weight: PART_WEIGHT }));
  return [{ key: `#${token.toLowerCase()}`, written: token, weight: CODE_WEIGHT }, ...parts];
}

function termOfWord(word: string): Term[] {
  const lower = word.toLowerCase();
  if (lower.length < SHORTEST || STOP_WORDS.has(lower) || /^[\d.:/-]+$/.test(lower)) return [];
  return [{ key: stem(lower), written: lower, weight: 1 }];
}

/** By character code below 128: 1 belongs to a word, 2 joins words to a name (`src/a.ts`, `try-again`), 0 parts them. */
const CLASSES = Uint8Array.from({ length: 128 }, (_, code) => {
  const char = String.fromCharCode(code);
  return /\w/.test(char) ? 1 : './:@-'.includes(char) ? 2 : 0;
});

function classOf(code: number): number {
  if (code < 128) return CLASSES[code] ?? 0;
  // Spaces, quotation marks, dashes, full-width punctuation; everything else up there is taken for letters.
  return code < 0xc0 || (code >= 0x2000 && code <= 0x206f) || (code >= 0x3000 && code <= 0x303f) ? 0 : 1;
}

/** Words, paths and names, with what joins them. By hand and not by an expression: a backlog is tens of megabytes. */
export function eachToken(text: string, take: (token: string) => void): void {
  let start = -1;
  let end = 0;
  for (let at = 0; at <= text.length; at++) {
    const kind = at === text.length ? 0 : classOf(text.charCodeAt(at));
    if (kind === 1) {
      if (start === -1) start = at;
      end = at + 1;
    } else if (kind === 0 && start !== -1) {
      if (end - start >= SHORTEST) take(text.slice(start, end));
      start = -1;
    }
  }
}
