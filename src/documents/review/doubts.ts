import type { RootContent } from 'mdast';
import { headline } from '../finding.ts';
import { parseLenientJson } from './json.ts';
import { isNoFinding } from './no-finding.ts';
import type { Part } from './outline.ts';
import type { Review } from './review.ts';
import { blockText, type Line, linesOf } from './text.ts';
import type { VerdictReading } from './verdict.ts';
import { labelledVerdict, verdictWord } from './verdict-word.ts';

/*
 * An approval is trusted by its form, never by a guess at its meaning: one box ticked, or the verdict as the only statement
 * of its section, and nothing behind it that speaks. A reader that tries to understand "except for …" will always miss one
 * way to say it; one that asks again whenever there is a further sentence never does. Only sentences that everybody knows
 * (CLOSING) may follow, and none of them with a word that could take something back (TURN).
 */
const TURN =
  /\b(?:except|but|however|though|although|yet|only|if|once|unless|until|till|provided|subject|condition\w*|contingent|pending|assuming|after|before|must|should|shall|needs?|not|never|cannot|withdraw\w*|retract\w*|partial\w*|with (?:the )?(?:\w+ )?(?:changes?|fix(?:es)?|revisions?|exceptions?|conditions?))\b|n['’]t\b|\?/i;
const CLOSING = new RegExp(
  `^(?:${[
    '(?:ready (?:for|to)|for (?=implementation|development|coding|merg|a design)) ?[\\w /-]{1,40}|with (?:\\w+ )?(?:comments?|suggestions?|notes?|remarks?|observations?)',
    'good to go|lgtm|looks good(?: to me)?|ship it|(?:great|nice|excellent|good) (?:work|job)|well done|thank(?:s| you)[\\w ,]{0,30}',
    'approved?|proceed(?: (?:with|to) (?:the )?\\w+)?|go ahead',
    '(?:this|the) (?:lld|design|issue|draft|document|change|code|review) (?:is|has been) (?:hereby |now )?(?:approved|ready|complete)(?: (?:for|to) [\\w ]{1,40})?',
    'no (?:[\\w-]+,? ){0,4}(?:issues?|findings?|concerns?|blockers?|changes|questions?)(?: (?:were |are |have been )?(?:found|identified|remain(?:ing)?|open|needed|required|necessary|raised))?',
    'all (?:[\\w-]+ ){0,4}(?:findings|issues|concerns|requirements|checks|questions|points|scenarios|of them) (?:are|were|have been) (?:now )?(?:resolved|addressed|settled|fixed|covered|met|answered|closed|guards)',
    '(?:reviewed|signed|approved) (?:by|on)\\b.{0,80}|(?:reviewer|date|model|round|confidence|signature)\\s*:.{0,60}|-* ?end of (?:the )?review',
  ].join('|')})[\\s.!]*$`,
  'i',
);
const COURTESY =
  /^(?:let me know|tell me|feel free|(?:i['’]?m |i am )?happy to (?:help|answer|look|discuss|clarify))\b[^.]{0,80}[.!]?$/i;
const MOST_WORDS = 14;

/** In a summary, conditions and denials count where they are about the verdict, or about what has to be done first. */
const CONDITION =
  /\b(?:except|unless|only (?:if|when|once|after)|provided|subject to|contingent|conditional(?:ly)?|on condition|until|once)\b/i;
const DENIAL = /\b(?:if|assuming|as long as|not|cannot|never|no longer|however)\b|n['’]t\b/i;
const OF_THE_VERDICT =
  /\bapprov\w*|\bready\b|\bproceed\w*|\bacceptable\b|\bholds\b|\brecommend(?:ing)? (?:this|implement\w+|merg\w+)|\b(?:be|start(?:ed)?) (?:implement|merg|buil)\w+/i;
const OF_A_FIX =
  /\bsection \d|\btier [12]\b|\b(?:is|are|be|been) (?:fixed|addressed|resolved|clarified|bounded|added)\b/i;
const COMMAND =
  /\b(?:do not|don['’]t|must not) (?:start|implement|merge|build|proceed|begin)\b|\b(?:I|we) (?:withdraw|retract)\b/i;
/** What a reviewer calls a blocker who does not keep to the tiers. */
const BLOCKER = /^[\s\W]*(?:\[?(?:P0|SEV-?[01]|BLOCKER|BLOCKING|CRITICAL|MUST[- ]FIX)\b|[🔴⛔🛑🚫])/u;

const SPEAKING = new Set<Part['kind']>(['verdict', 'other', 'title', 'preamble', 'previous']);
const JUDGED = new Set<Part['kind']>(['summary', 'preamble', 'title', 'other', 'tier', 'pre-flight', 'identity']);

/** Why an approval can't be taken as it stands, one sentence each. */
export function doubtsOf(
  parts: Part[],
  reading: VerdictReading,
  { findings, unranked, unanswered, coverage }: Pick<Review, 'findings' | 'coverage'> & Facts,
): string[] {
  const blocking = findings.filter(({ tier }) => tier === 1);
  const lines = coverageLines(parts);
  const few = coverage === null ? lines.filter(isBelow) : coverage.percent < 95 ? [`${coverage.percent} %`] : [];
  const saying = (what: string, texts: string[]): string[] => texts.map((text) => `${what}: ${headline(text)}`);
  return [
    ...saying(
      `It is APPROVED with ${blocking.length} open Tier 1 finding(s)`,
      blocking.slice(0, 1).map(({ text }) => text),
    ),
    ...reading.blocking.map((id) => `It is APPROVED, and calls ${id} blocking.`),
    ...saying('It is APPROVED beside a concern that stands in no tier', unranked),
    ...saying('It is APPROVED with an unanswered question', unanswered),
    ...saying('It is APPROVED with too few requirements covered, and 95 % are needed', few),
    ...(lines.some((text) => COVERAGE_BLOCKS.test(text))
      ? ['It is APPROVED although its coverage verdict is BLOCK.']
      : []),
    ...saying('It is APPROVED beside something marked as a blocker', blockersIn(parts)),
    ...saying('It is APPROVED, but also says', talkIn(parts)),
    ...saying('The approval is not its last word', sentencesBehind(parts, reading)),
  ];
}

interface Facts {
  unranked: string[];
  unanswered: string[];
}

/** What speaks in the verdict's section, or behind it, and is no closing phrase. */
function sentencesBehind(parts: Part[], { approval }: VerdictReading): string[] {
  if (approval === null) return [];
  const from = parts.indexOf(approval.part);
  return parts.slice(from).flatMap((part, index) => {
    if (!SPEAKING.has(part.kind) && index > 0) return [];
    const isWhole = index > 0 || part.kind === 'verdict';
    const lines = part.blocks.flatMap((node) =>
      linesOf(node).map((line, row) => ({ ...line, isHeader: node.type === 'table' && row === 0 })),
    );
    const spoken = lines.flatMap((line, number) => {
      if (index === 0 && number === approval.line) return inLine(line);
      if (line.isHeader) return [];
      return isWhole || number > approval.line ? inLine(line) : [];
    });
    const heading = index === 0 && approval.line === -1 ? glossIn(part.title) : [];
    return [...heading, ...spoken, ...part.blocks.flatMap(quoted)];
  });
}

function glossIn(title: string): string[] {
  const [, rest = ''] = /\bapproved?\b(.*)$/i.exec(title) ?? [];
  return speech(rest, true);
}

function inLine({ text, box }: Line): string[] {
  const word = verdictWord(text);
  // The other boxes of the legend say what they would mean.
  if (box !== null && word) return box === 'ticked' && word.verdict === 'APPROVED' ? speech(word.rest, true) : [];
  if (/^\W*(?:[\w ]+:\s*)?F\d+\b/.test(text)) return [];
  const approved = word ?? labelledVerdict(text);
  return approved?.verdict === 'APPROVED' ? speech(approved.rest, true) : speech(text, false);
}

/** Sentences that are no closing phrase. The gloss on the verdict's own line may be any short clause that turns nothing. */
function speech(text: string, isGloss: boolean): string[] {
  // Behind a dash, a colon or in brackets stands the legend's gloss; anything else is another statement.
  const hasGloss = isGloss && /^[\s"'*_)\]]*[-–—:(|]/.test(text);
  return text.split('|').flatMap((cell) =>
    cell
      .split(/(?<=[.!?;])\s+/)
      .map((sentence) => sentence.replace(/^[\s\W]+/, '').trim())
      .filter((sentence) => sentence !== '')
      .filter((sentence, index) => {
        if (COURTESY.test(sentence)) return false;
        if (TURN.test(sentence)) return true;
        const isShort = sentence.split(/\s+/).length <= MOST_WORDS;
        return !CLOSING.test(sentence) && !(hasGloss && index === 0 && isShort);
      }),
  );
}

function quoted(node: RootContent): string[] {
  if (node.type === 'blockquote') return [blockText([node])];
  if (node.type !== 'code' || node.value.trim() === '') return [];
  return parseLenientJson(node.value) === null ? [node.value.trim()] : [];
}

function coverageLines(parts: Part[]): string[] {
  return parts
    .filter(({ kind }) => kind === 'coverage')
    .flatMap(({ title, blocks }) => [title, ...blocks.flatMap((node) => linesOf(node)).map(({ text }) => text)]);
}

const COVERAGE_BLOCKS = /^\W*(?:coverage )?verdict\W+(?:block|fail|reject)|^\W*BLOCK(?:ED)?\W*$/i;

/** "Coverage: 90 %", where no numbers of requirements are given. */
function isBelow(text: string): boolean {
  const [, percent] = /^\W*(?:\w+ )?coverage\W*[:=]\W*(\d+(?:\.\d+)?)\s*%/i.exec(text) ?? [];
  return percent !== undefined && Number(percent) < 95;
}

function blockersIn(parts: Part[]): string[] {
  return parts
    .filter(({ kind }) => kind !== 'coverage' && kind !== 'previous' && kind !== 'verdict')
    .filter(({ kind, tier }) => kind !== 'tier' || tier !== 1)
    .flatMap((part) => part.blocks.flatMap((node) => linesOf(node)))
    .filter(
      ({ text, box }) =>
        box !== 'ticked' && BLOCKER.test(text) && !isNoFinding(text.replace(BLOCKER, '').replace(/^\W+/, '')),
    )
    .map(({ text }) => text);
}

/** Conditions and denials in the sentences of a summary, or beside a tier's findings. */
function talkIn(parts: Part[]): string[] {
  return parts
    .filter(({ kind }) => JUDGED.has(kind))
    .flatMap((part) => part.blocks.filter(({ type }) => type === 'paragraph' || part.kind === 'summary'))
    .flatMap((node) => blockText([node]).split(/(?<=[.!?;])\s+|\n/))
    .filter(
      (sentence) =>
        COMMAND.test(sentence) ||
        (CONDITION.test(sentence) && (OF_THE_VERDICT.test(sentence) || OF_A_FIX.test(sentence))) ||
        (DENIAL.test(sentence) && OF_THE_VERDICT.test(sentence)),
    );
}
