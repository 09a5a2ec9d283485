import type { Code, Root } from 'mdast';
import {
  CLOSING_FENCE,
  codeIn,
  FENCE,
  lineOf,
  normaliseText,
  parseMarkdown,
  withoutWrapper,
} from '../../markdown/markdown.ts';
import { isLld } from '../lld/document.ts';
import { doubtsOf } from './doubts.ts';
import { coverageOf, findingsOf, openQuestionsOf, preFlightOf, questionsOf, statedReason } from './findings.ts';
import { findJson, isErrorObject, markdownOf } from './json.ts';
import { hasReviewSections, knownArea, linesIn, meaningOfHeading, outlineOf, type Part, textOf } from './outline.ts';
import { NO_TICK, NO_VERDICT, readVerdict, type VerdictReading } from './verdict.ts';
import { rulingsIn } from './words.ts';

export type Verdict = 'APPROVED' | 'REVISE' | 'DISCUSS';

export type Tier = 1 | 2 | 3;

export interface Finding {
  tier: Tier;
  /** The heading it stands under, `Suggestions` for a Tier 3 finding under none, else empty. */
  area: string;
  /** Readable text: emphasis is gone, code keeps its backticks, nested points follow on lines of their own. */
  text: string;
  /** It names no evidence, or what it cites is not there: a suggestion, whatever its tier. */
  isUnproven?: boolean;
}

export interface OpenQuestion {
  question: string;
  answer: string;
}

/** What a review says about a finding that it names by its id in the ledger. No review has to. */
export interface Ruling {
  id: string;
  state: 'open' | 'fixed' | 'withdrawn';
}

export interface Review {
  /** As the document states it; null when it states none, or more than one. */
  verdict: Verdict | null;
  /** Why the verdict is missing or can't be relied on, a sentence each. */
  problems: string[];
  /** Oddities that don't affect the verdict. */
  notes: string[];
  /** Open findings only: what the review itself marks as settled is left out. */
  findings: Finding[];
  openQuestions: OpenQuestion[];
  questionsForOrchestrator: string[];
  coverage: { covered: number; total: number; percent: number } | null;
  preFlight: 'PASSED' | 'FAILED' | null;
  title: string | null;
  summary: string | null;
  rulings: Ruling[];
}

/** Whether a workflow may act on the verdict. If not: ask the reviewer once more, then fail closed to DISCUSS. */
export function isTrustworthy(review: Review): boolean {
  return review.verdict !== null && review.problems.length === 0;
}

/** What a provider or a command-line agent prints when there is no answer; looked for only if no verdict is stated. */
const ERROR_FIRST =
  /^\W*(?:api error|error\b|fatal\b|exception\b|traceback\b|[45]\d\d\b|(?:i['’]m|i am) sorry\b)|^\s*<(?:!doctype|html|\?xml)/i;
const ERROR =
  /\b(?:overloaded|too many requests|internal server error|bad gateway|service unavailable|unauthori[sz]ed|fetch failed)\b|\b(?:usage|rate|quota|token)[\s-]?limit|\b(?:quota|credit|context length|prompt is too long)\b|\b(?:i can(?:['’]?t|not)|i am unable to) (?:help|assist|review|provide|complete)\b|\b(?:request|connection) (?:timed out|refused|failed)\b|\bE(?:CONN\w+|TIMEDOUT|NOTFOUND)\b/i;
const LONGEST_ERROR = 4000;
const EMPTY = 'The reply is empty.';
const UNBALANCED = 'A code fence is never closed.';
const NOT_A_REVIEW = 'An error message stands in place of a review.';

/** A reply without a fence around the whole of it, and what its outline says about the verdict. */
interface ReadReply {
  text: string;
  root: Root;
  isUnbalanced: boolean;
  parts: Part[];
  reading: VerdictReading;
}

/** If a fence swallowed sections, the outline is that of the text without any fence. */
function readReply(given: string): ReadReply {
  const text = withoutWrapper(given, beginsReview);
  const root = parseMarkdown(text);
  const lines = text.split('\n');
  const swallows = codeIn(root).some((code) => swallowsSections(code, lines));
  const bare = lines.map((line) => (FENCE.test(line) ? '' : line)).join('\n');
  const parts = swallows ? outlineOf(parseMarkdown(bare), bare) : outlineOf(root, text);
  const isUnbalanced = swallows || codeIn(root).some((code) => isOpen(code, lines));
  return { text, root, isUnbalanced, parts, reading: readVerdict(parts) };
}

/** No verdict can be read. */
function noReview(problem: string): Review {
  const lists = { notes: [], findings: [], openQuestions: [], questionsForOrchestrator: [], rulings: [] };
  return { ...lists, problems: [problem], verdict: null, coverage: null, preFlight: null, title: null, summary: null };
}

/** Reads a review in whatever form a reviewer's reply has. Never throws: `problems` says what is wrong with it. */
export function readReview(source: string): Review {
  const { text, damaged } = repairMojibake(normaliseText(source));
  if (text.trim() === '') return noReview(EMPTY);
  const reply = readReply(text);
  const review = (hasReviewSections(reply.parts) ? null : readUnstructured(reply)) ?? readOutline(reply);
  return damaged ? { ...review, notes: ['Text was decoded with the wrong character set.', ...review.notes] } : review;
}

/** Why a reply is no review at all, but empty or an error message of the provider; else null. */
export function unusableReview(source: string): string | null {
  return readReview(source).problems.find((problem) => problem === EMPTY || problem === NOT_A_REVIEW) ?? null;
}

/** A reply without the sections of a review: JSON, an error in its place, or null if it is prose. */
function readUnstructured({ text, root, parts, reading }: ReadReply): Review | null {
  const json = findJson(text, root);
  if (json === 'damaged') return noReview('The JSON in the reply can’t be parsed.');
  const markdown = json && markdownOf(json.value);
  if (json && markdown) {
    const [before = '', after = ''] = text.split(json.source).map((part) => part.replace(/^\s*`{3,}\w*\s*$/gm, ''));
    return readReview(`${before}\n\n${markdown}${after}`);
  }
  const isTitled = parts.some(({ kind }) => kind === 'title' || kind === 'identity');
  const isSilent = reading.problem === NO_VERDICT && !isTitled && text.length <= LONGEST_ERROR;
  const isError =
    (json && isErrorObject(json.value)) || ERROR_FIRST.test(text) || (isSilent && ERROR.test(text.slice(0, 500)));
  return isError ? noReview(NOT_A_REVIEW) : null;
}

function readOutline(reply: ReadReply): Review {
  const { text, root, isUnbalanced, parts, reading } = reply;
  const { verdict: stated, problem } = reading;
  // An approval is taken only from text that no reading of the document puts into a code block.
  const isHidden = stated === 'APPROVED' && isUnbalanced && readVerdict(outlineOf(root, text)).verdict !== 'APPROVED';
  const preFlight = preFlightOf(parts);
  const isSilent = problem === NO_VERDICT || problem === NO_TICK;
  const gateDecides = preFlight === 'FAILED' && isSilent && !parts.some(({ kind }) => kind === 'tier');
  const verdict = gateDecides ? 'REVISE' : isHidden ? null : stated;
  const { resolved, forAPerson, unanswered } = openQuestionsOf(parts);
  const { findings, unranked } = findingsOf(parts);
  if (verdict !== 'APPROVED')
    findings.unshift(...statedReason(parts, reading.rejection, { verdict, preFlight, findings }));
  const title = parts.find(({ kind }) => kind === 'title') ?? parts.find(({ depth }) => depth === 1);
  const summary = parts.filter(({ kind }) => kind === 'summary').flatMap(linesIn);
  const review: Review = {
    verdict,
    problems: [],
    notes: isUnbalanced ? [UNBALANCED] : [],
    findings,
    openQuestions: resolved,
    questionsForOrchestrator: [...questionsOf(parts), ...forAPerson],
    coverage: coverageOf(parts),
    preFlight,
    title: title?.title ?? null,
    summary: textOf(summary) || null,
    rulings: rulingsIn(parts.filter(({ kind }) => kind !== 'coverage').flatMap(linesIn)),
  };
  const unreadable = gateDecides ? null : (problem ?? (isHidden ? NO_VERDICT : null));
  const problems = unreadable === null ? [] : [unreadable];
  if (verdict === null && isUnbalanced) problems.push(UNBALANCED);
  if (verdict === 'APPROVED') {
    if (preFlight === 'FAILED') problems.push('It is APPROVED although the Pre-Flight gate FAILED.');
    if (startsInTheMiddle(parts)) problems.push('The beginning of the review is missing.');
    const questions = [...review.questionsForOrchestrator, ...unanswered];
    problems.push(...doubtsOf(parts, reading, { ...review, unranked, unanswered: questions }));
  }
  return { ...review, problems };
}

/** Nothing of Tier 1 can have been lost if its own heading is there. */
function startsInTheMiddle(parts: Part[]): boolean {
  const has = (...kinds: Part['kind'][]): boolean => parts.some(({ kind }) => kinds.includes(kind));
  const isWhole = parts.some(({ kind, tier, title }) => kind === 'tier' && tier === 1 && knownArea(title) === null);
  const [preamble] = parts;
  if (!preamble || isWhole || !hasReviewSections(parts)) return false;
  const isTorn = /^(?:[\p{Ll}|,.;:)\]}]|\W{0,2}-\s)/u.test(textOf(linesIn(preamble)));
  if (isTorn || preamble.blocks[0]?.node.type === 'list') return true;
  return !has('title', 'identity', 'summary') && has('tier', 'questions');
}

/** Whether a text is a review, a damaged one included. An LLD, any other document, an error or an empty file is not. */
export function isReview(source: string): boolean {
  const given = repairMojibake(normaliseText(source)).text;
  if (given.trim() === '' || isLld(given)) return false;
  const { text, root, parts, reading } = readReply(given);
  if (reading.problem !== NO_VERDICT) return hasReviewSections(parts) || !ERROR_FIRST.test(text);
  // Headings that hardly any other document has.
  const telling = parts.filter(
    ({ kind, title }) =>
      ['title', 'identity', 'pre-flight'].includes(kind) || (kind === 'tier' && /\btier\b/i.test(title)),
  );
  const kinds = new Set(telling.map(({ kind, tier }) => `${kind} ${tier}`));
  const hasMore = parts.some(({ kind }) => ['verdict', 'summary', 'coverage'].includes(kind));
  if (kinds.size > 1 || kinds.has('pre-flight 0') || (kinds.has('title 0') && hasMore)) return true;
  const json = findJson(text, root);
  if (json === 'damaged') return /"(?:verdict|decision)"\s*:/.test(text);
  return json !== null && markdownOf(json.value) !== null;
}

/** A rule or a sentence may stand above the title. */
function beginsReview(text: string): boolean {
  const [, heading] = /^\s*(?:[^#\n]{1,200}\n\s*){0,2}#{1,3}\s+(.*)/.exec(text) ?? [];
  return heading !== undefined && meaningOfHeading(heading, true) !== null;
}

function isReviewHeading(line: string): boolean {
  const [, title] = /^#{1,4}\s*(\S.*)$/.exec(line) ?? [];
  return title !== undefined && (meaningOfHeading(title, false) !== null || knownArea(title) !== null);
}

/** A fenced block without an end. */
function isOpen(code: Code, lines: string[]): boolean {
  const [first, last] = [lineOf(code) - 1, (code.position?.end.line ?? 1) - 1];
  return FENCE.test(lines[first] ?? '') && (first === last || !CLOSING_FENCE.test(lines[last] ?? ''));
}

/** A fence that is never closed, or only by the fence of a later block. One that closes properly quotes its content. */
function swallowsSections(code: Code, lines: string[]): boolean {
  const inside = code.value.split('\n');
  const isClosedLate = inside.some((line) => FENCE.test(line) && !CLOSING_FENCE.test(line));
  const isFenced = FENCE.test(lines[lineOf(code) - 1] ?? '');
  return isFenced && inside.some(isReviewHeading) && (isClosedLate || isOpen(code, lines));
}

/** Windows-1252 as the reader that damaged the text had it: each character and its byte. */
const BYTES = new Map(
  Array.from({ length: 128 }, (_, at) => [new TextDecoder('windows-1252').decode(Uint8Array.of(at + 128)), at + 128]),
);
const RUN = new RegExp(`[${[...BYTES.keys()].join('')}]{2,}`, 'g');
const LEFT_OVER = /â€|Ã[©¨¼¶¤]|ï»¿|\uFFFD/;
const utf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * Restores UTF-8 that was read as Windows-1252 (`â€™`, `âœ…`, `Ã©`, a `ï»¿` in front) where its bytes are valid UTF-8. Ordinary
 * accents and quotation marks are not valid UTF-8, so they stay.
 */
function repairMojibake(text: string): { text: string; damaged: boolean } {
  const result = text.replace(RUN, (run) => {
    try {
      return utf8.decode(Uint8Array.from(run, (character) => BYTES.get(character) ?? 0));
    } catch {
      return run;
    }
  });
  return { text: result.replace(/^\uFEFF/, ''), damaged: result !== text || LEFT_OVER.test(result) };
}
