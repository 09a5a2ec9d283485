import { normaliseText } from '../../markdown/markdown.ts';
import { repairMojibake } from '../../markdown/mojibake.ts';
import { isLld } from '../lld/sections.ts';
import { doubtsOf } from './doubts.ts';
import { rulingsIn } from './finding-state.ts';
import { findingsOf } from './findings.ts';
import { findJson, isErrorObject, markdownOf } from './json.ts';
import { type Block, textOf } from './lines.ts';
import { hasReviewSections, knownArea, linesIn, outlineOf, type Part } from './outline.ts';
import { coverageOf, gateFindings, openQuestionsOf, preFlightOf, questionsOf } from './parts.ts';
import { repairFences, type Source } from './repair.ts';
import type { Finding, Review, Verdict } from './review.ts';
import { readVerdict, type VerdictReading } from './verdict.ts';

export { isTrustworthy, type Review } from './review.ts';

/** What a provider or a command-line agent prints when there is no answer; looked for only if no verdict is stated. */
const ERROR_FIRST =
  /^\W*(?:api error|error\b|fatal\b|exception\b|traceback\b|[45]\d\d\b|(?:i['’]m|i am) sorry\b)|^\s*<(?:!doctype|html|\?xml)/i;
const ERROR =
  /\b(?:overloaded|too many requests|internal server error|bad gateway|service unavailable|unauthori[sz]ed|fetch failed)\b|\b(?:usage|rate|quota|token)[\s-]?limit|\b(?:quota|credit|context length|prompt is too long)\b|\b(?:i can(?:['’]?t|not)|i am unable to) (?:help|assist|review|provide|complete)\b|\b(?:request|connection) (?:timed out|refused|failed)\b|\bE(?:CONN\w+|TIMEDOUT|NOTFOUND)\b/i;
const LONGEST_ERROR = 4000;
const EMPTY = 'The reply is empty.';
const NOT_A_REVIEW = 'An error message stands in place of a review.';

/** A reply with its outline and what that says about the verdict. */
interface ReadReply {
  given: Source;
  isUnbalanced: boolean;
  parts: Part[];
  reading: VerdictReading;
}

function readReply(text: string): ReadReply {
  const { given, repaired, unbalanced } = repairFences(text);
  const parts = outlineOf(repaired);
  return { given, isUnbalanced: unbalanced, parts, reading: readVerdict(parts) };
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
function readUnstructured({ given, parts, reading }: ReadReply): Review | null {
  const { text } = given;
  const json = findJson(text, given.root);
  if (json === 'damaged') return noReview('The JSON in the reply can’t be parsed.');
  const markdown = json && markdownOf(json.value);
  if (json && markdown) {
    const [before = '', after = ''] = text.split(json.source).map((part) => part.replace(/^\s*`{3,}\w*\s*$/gm, ''));
    return readReview(`${before}\n\n${markdown}${after}`);
  }
  const isTitled = parts.some(({ kind }) => kind === 'title' || kind === 'identity');
  const isSilent = !saysVerdict(reading) && !isTitled && text.length <= LONGEST_ERROR;
  const isError =
    (json && isErrorObject(json.value)) || ERROR_FIRST.test(text) || (isSilent && ERROR.test(text.slice(0, 500)));
  return isError ? noReview(NOT_A_REVIEW) : null;
}

/** The one verdict that is stated. A ticked box counts even if the words beside it name a condition. */
function soleVerdict({ verdicts, untickedOnly }: VerdictReading): Verdict | null {
  const [verdict] = verdicts;
  return verdict !== undefined && verdicts.size === 1 && !untickedOnly ? verdict : null;
}

function saysVerdict({ verdicts, untickedOnly, qualified }: VerdictReading): boolean {
  return verdicts.size > 0 || untickedOnly || qualified;
}

function readOutline(reply: ReadReply): Review {
  const { given, isUnbalanced, parts, reading } = reply;
  const stated = soleVerdict(reading);
  // An approval is taken only from text that no reading of the document puts into a code block.
  const isHidden = stated === 'APPROVED' && isUnbalanced && soleVerdict(readVerdict(outlineOf(given))) !== 'APPROVED';
  const preFlight = preFlightOf(parts);
  const hasTiers = parts.some(({ kind }) => kind === 'tier');
  const gateDecides = preFlight === 'FAILED' && reading.verdicts.size === 0 && !reading.qualified && !hasTiers;
  const verdict = gateDecides ? 'REVISE' : isHidden ? null : stated;
  const { resolved, forAPerson, unanswered } = openQuestionsOf(parts);
  const { findings, unranked } = findingsOf(parts, verdict);
  if (preFlight === 'FAILED' && verdict !== 'APPROVED') findings.unshift(...gateFindings(parts));
  if (verdict === 'REVISE' && findings.length === 0 && !hasTiers) findings.push(...statedReason(parts, reading));
  const title = parts.find(({ kind }) => kind === 'title') ?? parts.find(({ depth }) => depth === 1);
  const review: Review = {
    verdict,
    problems: [],
    notes: isUnbalanced ? ['A code fence is never closed.'] : [],
    findings,
    openQuestions: resolved,
    questionsForOrchestrator: [...questionsOf(parts), ...forAPerson],
    coverage: coverageOf(parts),
    preFlight,
    title: title?.title ?? null,
    summary: saidIn(parts, 'summary') || null,
    rulings: rulingsIn(parts.filter(({ kind }) => kind !== 'coverage').flatMap(linesIn)),
  };
  const facts = { ...review, unranked, unanswered: [...review.questionsForOrchestrator, ...unanswered] };
  const doubts = verdict === 'APPROVED' ? doubtsOf(parts, reading, facts) : [];
  return { ...review, problems: problemsOf(reply, review, doubts) };
}

function saidIn(parts: Part[], kind: Part['kind'], isWanted: (block: Block) => boolean = () => true): string {
  const blocks = parts.filter((part) => part.kind === kind).flatMap((part) => part.blocks);
  return textOf(blocks.filter(isWanted).flatMap(({ lines }) => lines));
}

/** A short rejection without tiers ("# Governance Verdict: BLOCK" and a paragraph): its reason is what has to be fixed. */
function statedReason(parts: Part[], { rejection }: VerdictReading): Finding[] {
  const isReason = ({ node, lines }: Block): boolean =>
    node.type === 'paragraph' && lines.every(({ said, box }) => box === null && !/^(?:#|\W*verdict\b)/i.test(said));
  const text = rejection ?? (saidIn(parts, 'verdict', isReason) || saidIn(parts, 'summary', isReason));
  return text.split(/\s+/).length > 5 ? [{ tier: 1, area: '', text }] : [];
}

function problemsOf(
  { isUnbalanced, parts, reading }: ReadReply,
  { verdict, preFlight }: Review,
  doubts: string[],
): string[] {
  const { verdicts, untickedOnly, qualified } = reading;
  if (verdicts.size > 1) return [`It states more than one verdict: ${[...verdicts].join(', ')}.`];
  const isApproved = verdict === 'APPROVED';
  const isQualified = qualified && (verdict === null || isApproved);
  const isSilent = verdict === null && !isQualified;
  const rows: [holds: boolean, problem: string][] = [
    [isQualified, 'It approves in a sentence with more in it: tick one box.'],
    [isSilent, untickedOnly ? 'No verdict box is ticked.' : 'It states no verdict.'],
    [verdict === null && isUnbalanced, 'A code fence is never closed.'],
    [isApproved && preFlight === 'FAILED', 'It is APPROVED although the Pre-Flight gate FAILED.'],
    [isApproved && startsInTheMiddle(parts), 'The beginning of the review is missing.'],
  ];
  return [...rows.filter(([holds]) => holds).map(([, problem]) => problem), ...doubts];
}

/** The tier's own heading: below it nothing of the tier is missing. */
function beginsTier({ kind, title }: Part): boolean {
  return kind === 'tier' && knownArea(title) === null;
}

/** Nothing of Tier 1 can have been lost if its heading is there. */
function startsInTheMiddle(parts: Part[]): boolean {
  const has = (...kinds: Part['kind'][]): boolean => parts.some(({ kind }) => kinds.includes(kind));
  const [preamble] = parts;
  if (!preamble || !hasReviewSections(parts) || parts.some((part) => part.tier === 1 && beginsTier(part))) return false;
  const isTorn = /^(?:[\p{Ll}|,.;:)\]}]|\W{0,2}-\s)/u.test(textOf(linesIn(preamble)));
  if (isTorn || preamble.blocks[0]?.node.type === 'list') return true;
  return !has('title', 'identity', 'summary') && has('tier', 'questions');
}

/** Whether a text is a review, a damaged one included. An LLD, any other document, an error or an empty file is not. */
export function isReview(source: string): boolean {
  const { text } = repairMojibake(normaliseText(source));
  if (text.trim() === '' || isLld(text)) return false;
  const { given, parts, reading } = readReply(text);
  if (saysVerdict(reading)) return hasReviewSections(parts) || !ERROR_FIRST.test(text);
  const isTitled = parts.some(({ kind }) => kind === 'title');
  // Headings that hardly any other document has; one of them is enough below a title.
  const telling = parts.filter(
    ({ kind, title }) => kind === 'identity' || kind === 'pre-flight' || (kind === 'tier' && /\btier\b/i.test(title)),
  );
  const kinds = new Set(telling.map(({ kind, tier }) => `${kind} ${tier}`));
  if (kinds.size > 1 || (kinds.size === 1 && (isTitled || kinds.has('pre-flight 0')))) return true;
  if (isTitled && parts.some(({ kind }) => ['verdict', 'summary', 'coverage'].includes(kind))) return true;
  const json = findJson(given.text, given.root);
  if (json === 'damaged') return /"(?:verdict|decision)"\s*:/.test(given.text);
  return json !== null && markdownOf(json.value) !== null;
}
