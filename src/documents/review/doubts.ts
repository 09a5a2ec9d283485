import type { Nodes } from 'mdast';
import { plainText } from '../../markdown/markdown.ts';
import { headline } from '../finding.ts';
import { parseJson } from './json.ts';
import { type Block, entriesOf, type Line, linesIn, type Part, textOf, UNSAID } from './outline.ts';
import type { Review } from './reader.ts';
import { statementsIn, type VerdictReading } from './verdict.ts';
import { isNoFinding, labelledVerdict, rulingsIn, VERDICT_LABEL, verdictWord } from './words.ts';

/*
 * An approval is trusted by its form, never by a guess at its meaning: one box ticked, or the verdict as the only statement
 * of its section, and nothing behind it that speaks. A reader that tries to understand "except for …" will always miss one
 * way to say it; one that asks again whenever there is a further sentence never does. Only well-known sentences (CLOSING)
 * may follow, and none of them with a word that could take something back (TURN).
 */
const TURN =
  /\b(?:except|but|however|though|although|yet|only|if|once|unless|until|till|provided|subject|condition\w*|contingent|pending|assuming|after|before|must|should|shall|needs?|not|no longer|never|cannot|apart|aside|besides|withdraw\w*|retract\w*|partial\w*|fix\w*|first|then|without|phase)\b|n['’]t\b|\?/i;
const CLOSING = new RegExp(
  `^(?:${[
    '(?:(?:the|this) )?(?:\\w+ ){0,2}(?:(?:is|are|has been|now) )*(?:ready|approved?)(?: (?:for|to) (?:\\w+ ){0,2}(?:implement\\w*|development|coding|merg\\w+|backlog|design|build|ship|start|proceed))?',
    'for (?:implementation|development|merging)|with (?:minor |some |a few )?(?:comments?|suggestions?|notes?|remarks?|observations?)',
    'already done|all of them are guards|as it stands, by a person|good to go|go ahead|lgtm|looks good(?: to me)?|ship it|proceed(?: (?:with|to) (?:the )?\\w+)?',
    '(?:great|nice|excellent|good) (?:work|job)|well done|thank(?:s| you)|(?:let me know|tell me) if you (?:need|have) (?:any |more |further )*(?:questions?|help|more)?',
    'no (?:[\\w-]+,? ){0,4}(?:issues?|findings?|concerns?|blockers?|changes|questions?)(?: (?:(?:were|are|have been) )?(?:found|identified|remain(?:ing)?|open|needed|required|necessary|raised))?',
    'all (?:[\\w-]+ ){0,5}(?:findings|issues|concerns|requirements|checks|questions|points|scenarios|round \\d+) (?:are|were|have been) (?:now )?(?:resolved|addressed|settled|fixed|covered|met|answered|closed)',
    '(?:reviewed|signed|approved) (?:by|on) [\\w .,:@()/-]{1,60}|(?:reviewer|by|date|model|round|signature): [\\w .,:@()/-]{1,40}|-* ?end of (?:the )?review',
  ].join('|')})[\\s.!)\\]]*$`,
  'i',
);
/** Words of closing phrases that take nothing back. */
const CLOSING_TURN = / if you (?:need|have)\b|\bfixed\b/gi;
/** What a legend says of an approval. */
const MOST_WORDS = 3;
/** Marks of joy beside an approval; any other may be its opposite. */
const OTHER_MARK = /(?![✅✔☑🟢👍🎉🚀])\p{Extended_Pictographic}/u;

/** Exceptions, duties and negations: in a summary each of them counts. */
const TAKES_BACK =
  /\b(?:except|unless|must|cannot|provided (?:that|the|it|this|all)|subject to|contingent|condition(?:al(?:ly)?)? (?:on|upon|that)|as long as|not (?:yet|ready)|(?:I|we) (?:withdraw|retract)|(?:is|are|was|were|be|been|do|does|did|has|have|should|could|would|will|may) not(?! (?:block|prevent|introduc|affect|chang|touch|alter|break|add|modif)))\b|n['’]t\b/i;
/** These also say how a program behaves, so they count if they are about the verdict or about what has to be done first. */
const LIMITS = /\b(?:if|when|once|until|after|assuming|never|no longer|however|not(?! (?:block|prevent)))\b/i;
const OF_THE_VERDICT =
  /\bapprov\w*|\bready\b|\bproceed\w*|\bacceptable\b|\bholds\b|\brecommend(?:ing)? (?:this|implement\w+|merg\w+)|\b(?:not|be|start(?:ed)?) (?:start|begin|implement|merg|buil)\w*|\bsection \d|\btier [12]\b|\b(?:is|are|be|been) (?:fixed|addressed|resolved|clarified|bounded|added)\b/i;
/** Other names and marks for a blocker. */
const BLOCKER = /^[\s\W]*(?:\[?(?:P0|SEV-?[01]|BLOCKER|BLOCKING|CRITICAL|MUST[- ]FIX)\b|[🔴⛔🛑🚫])/u;

const SPEAKING: Part['kind'][] = ['verdict', 'other', 'title', 'preamble', 'previous', 'evidence'];
const JUDGED: Part['kind'][] = [
  'summary',
  'preamble',
  'title',
  'other',
  'tier',
  'pre-flight',
  'identity',
  'coverage',
  'evidence',
];
const COVERAGE_BLOCKS = /^\W*(?:coverage )?verdict\W+(?:block|fail|reject)|^\W*BLOCK(?:ED)?\W*$/i;

interface Facts extends Pick<Review, 'findings' | 'coverage'> {
  unranked: string[];
  unanswered: string[];
}

/** Why an approval can't be taken as it stands: one sentence for each kind of doubt. */
export function doubtsOf(parts: Part[], reading: VerdictReading, facts: Facts): string[] {
  const { findings, unranked, unanswered, coverage } = facts;
  const blocking = findings.filter(({ tier }) => tier === 1).map(({ text }) => text);
  const inCoverage = parts
    .filter(({ kind }) => kind === 'coverage')
    .flatMap((part) => [part.title, ...linesIn(part).map(({ said }) => said)]);
  const few = coverage === null ? inCoverage.filter(isBelow) : coverage.percent < 95 ? [`${coverage.percent} %`] : [];
  const doubts: [what: string, texts: string[]][] = [
    ['It is APPROVED with an open Tier 1 finding', blocking],
    ['It is APPROVED, and its JSON lists as blocking', reading.blocking],
    ['It is APPROVED beside a concern that is in no tier', [...unranked, ...openPoints(parts)]],
    ['It is APPROVED with an unanswered question', unanswered],
    ['It is APPROVED with less than 95 % of the requirements covered', few],
    ['It is APPROVED with a coverage verdict of BLOCK', inCoverage.filter((text) => COVERAGE_BLOCKS.test(text))],
    ['It is APPROVED beside something marked as a blocker', blockersIn(parts)],
    ['It is APPROVED, but also says', talkIn(parts)],
    ['The approval is not its last word', sentencesBehind(parts, reading)],
  ];
  return doubts.flatMap(([what, [first, ...more]]) => {
    const count = more.length === 0 ? '' : ` (and ${more.length} more)`;
    return first === undefined ? [] : [`${what}: ${headline(first.replaceAll(UNSAID, '…'))}${count}`];
  });
}

/** "Coverage: 90 %", if no numbers of requirements are given. */
function isBelow(text: string): boolean {
  const [, percent] = /^\W*(?:(?:\w+ )?coverage\W*[:=]\W*)?(\d+(?:\.\d+)?)\s*%/i.exec(text) ?? [];
  return percent !== undefined && Number(percent) < 95;
}

/** Points below a heading that no review has to have, unless they are ticked or praise. */
function openPoints(parts: Part[]): string[] {
  const blocks = parts.filter(({ kind }) => kind === 'other').flatMap((part) => part.blocks);
  return blocks
    .filter(({ node }) => node.type === 'list')
    .flatMap(({ lines }) => entriesOf(lines))
    .filter(({ text, box }) => box !== 'ticked' && !isNoFinding(text) && verdictWord(text) === null)
    .map(({ text }) => text);
}

/** What speaks beside the verdict, in its section or behind it, and is no closing phrase; above it in another section, what turns. */
function sentencesBehind(parts: Part[], { approval }: VerdictReading): string[] {
  if (approval === null) return [];
  const { part: own, line: approving } = approval;
  const behind = parts.slice(parts.indexOf(own) + 1).filter(({ kind }) => SPEAKING.includes(kind));
  const isWhole = own.kind === 'verdict' || approving === null;
  const from = isWhole ? 0 : own.blocks.findIndex(({ lines }) => lines.includes(approving));
  const above = own.blocks.slice(0, from).flatMap(({ lines }) => lines.filter(({ said }) => TURN.test(said)));
  const [, gloss = ''] = approving === null ? (/\bapproved?\b(.*)$/i.exec(own.title) ?? []) : [];
  const rest = [{ ...own, blocks: own.blocks.slice(from) }, ...behind];
  return [...speech(gloss), ...above.map(({ said }) => said), ...rest.flatMap(speechIn)];
}

/** What a part says beside a verdict. */
function speechIn(part: Part): string[] {
  const isLegend = linesIn(part).some(
    ({ box, said }) => box === 'unticked' && /\w/.test(verdictWord(said)?.rest ?? ''),
  );
  return part.blocks.flatMap((block) => [
    ...statementsIn(block).flatMap((line) => inLine(line, isLegend)),
    ...unspoken(block),
  ]);
}

/** `isLegend`: the other boxes say what they would mean, so the ticked one may do so too, in a few words. */
function inLine(line: Line, isLegend: boolean): string[] {
  const text = line.said.replace(' | ', ': ');
  const word = verdictWord(text) ?? labelledVerdict(text);
  if (line.box !== null && word) {
    if (line.box !== 'ticked' || word.verdict !== 'APPROVED') return [];
    const isShort = (word.rest.match(/[\p{L}\p{N}]+/gu) ?? []).length <= MOST_WORDS;
    return isLegend && isShort && !TURN.test(word.rest) ? [] : speech(word.rest);
  }
  if (OTHER_MARK.test(text)) return [text];
  if (word?.verdict === 'APPROVED') return speech(word.rest);
  const rulings = rulingsIn([line]);
  const isSettled = rulings.length > 0 && rulings.every(({ state }) => state !== 'open');
  const turns = TURN.test(text.replace(/\b(?:fixed|withdrawn)\b/gi, ''));
  return (isSettled && !turns) || VERDICT_LABEL.test(text) ? [] : speech(text);
}

/** Sentences that are no closing phrase. */
function speech(text: string): string[] {
  return text
    .split(/(?<=[.!?;])\s+|\|/)
    .map((sentence) => sentence.replace(/^[^\p{L}\p{N}\uFFFC]+/u, '').trim())
    .filter((sentence) => sentence !== '')
    .filter((sentence) => !CLOSING.test(sentence) || TURN.test(sentence.replace(CLOSING_TURN, '')));
}

/** What a block says that is no plain text: a quotation, code, HTML, links, images and what is struck out. */
function unspoken({ node, lines }: Block): string[] {
  if (node.type === 'blockquote') return [textOf(lines)];
  if (node.type === 'html') return [node.value];
  if (node.type === 'code') return node.value.trim() === '' || parseJson(node.value) ? [] : [node.value.trim()];
  return hasMarkup(node) ? [plainText(node)] : [];
}

function hasMarkup(node: Nodes): boolean {
  if (node.type === 'html') return !/^<br\b/i.test(node.value);
  if (['delete', 'link', 'linkReference', 'image', 'imageReference'].includes(node.type)) return true;
  return 'children' in node && node.children.some(hasMarkup);
}

function blockersIn(parts: Part[]): string[] {
  return parts
    .filter(({ kind, tier }) => !['coverage', 'previous', 'verdict'].includes(kind) && (kind !== 'tier' || tier !== 1))
    .flatMap(linesIn)
    .filter(({ said, box }) => box !== 'ticked' && BLOCKER.test(said))
    .map(({ said }) => said)
    .filter((text) => !isNoFinding(text.replace(BLOCKER, '').replace(/^\W+/, '')));
}

/** Conditions and denials in the sentences of a summary, or about the verdict in any other paragraph. */
function talkIn(parts: Part[]): string[] {
  return parts
    .filter(({ kind }) => JUDGED.includes(kind))
    .flatMap(({ blocks, kind }) => {
      const isSummary = kind === 'summary';
      const spoken = blocks.filter(({ node }) => node.type === 'paragraph' || isSummary);
      const said = spoken.flatMap(({ lines }) => lines.map((line) => `${line.wraps ? ' ' : '\n'}${line.said}`));
      const sentences = said.join('').split(/(?<=[.!?;])\s+|\n/);
      return sentences.filter((sentence) => {
        const takesBack = TAKES_BACK.test(sentence);
        if (kind === 'other' && TURN.test(sentence)) return true;
        return (isSummary && takesBack) || ((takesBack || LIMITS.test(sentence)) && OF_THE_VERDICT.test(sentence));
      });
    });
}
