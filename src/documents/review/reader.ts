import type { RootContent } from 'mdast';
import { isLld } from '../lld/sections.ts';
import { normaliseText } from '../markdown.ts';
import { doubtsOf } from './doubts.ts';
import { type FencedDocument, parseFenced } from './fences.ts';
import { findingsOf } from './findings.ts';

import { findJson, isErrorObject, markdownOf } from './json.ts';
import { hasReviewSections, knownArea, outlineOf, type Part } from './outline.ts';
import { coverageOf, gateFindings, openQuestionsOf, preFlightOf, questionsOf, rulingsIn } from './parts.ts';
import type { Finding, Review, ReviewProblem, ReviewProblemCode, Verdict } from './review.ts';
import { blockText, type Line, linesOf, repairMojibake } from './text.ts';
import { readVerdict, type VerdictReading } from './verdict.ts';

export { isTrustworthy, type Review } from './review.ts';

/** What a provider or a command-line agent prints when there is no answer; looked for where no verdict is stated. */
const ERROR_FIRST =
  /^\W*(?:api error|error\b|fatal\b|exception\b|traceback\b|[45]\d\d\b|(?:i['’]m|i am) sorry\b)|^\s*<(?:!doctype|html|\?xml)/i;
const ERROR =
  /\b(?:overloaded|too many requests|internal server error|bad gateway|service unavailable|unauthori[sz]ed|fetch failed)\b|\b(?:usage|rate|quota|token)[\s-]?limit|\b(?:quota|credit|context length|prompt is too long)\b|\b(?:i can(?:['’]?t|not)|i am unable to) (?:help|assist|review|provide|complete)\b|\b(?:request|connection) (?:timed out|refused|failed)\b|\bE(?:CONN\w+|TIMEDOUT|NOTFOUND)\b/i;
const LONGEST_ERROR = 4000;

const NOTHING: Review = {
  verdict: null,
  problems: [],
  findings: [],
  openQuestions: [],
  questionsForOrchestrator: [],
  coverage: null,
  preFlight: null,
  title: null,
  summary: null,
  rulings: [],
};

/** Reads a review in whatever form a reviewer's reply has. Never throws: what is wrong with it is in `problems`. */
export function readReview(source: string): Review {
  const { text, damaged } = repairMojibake(normaliseText(source));
  if (text.trim() === '') return { ...NOTHING, problems: [problem('empty', 'error', 'The reply is empty.')] };
  const { document, parts } = outlineOfText(text);
  const noted = damaged ? [problem('mojibake', 'warning', 'Text was decoded with the wrong character set.')] : [];
  const review = hasReviewSections(parts)
    ? readOutline(document, parts)
    : (readUnstructured(document, parts) ?? readOutline(document, parts));
  return { ...review, problems: [...noted, ...review.problems] };
}

function outlineOfText(text: string): { document: FencedDocument; parts: Part[] } {
  const document = parseFenced(text);
  const readable = document.recovered ?? document;
  return { document, parts: outlineOf(readable.root, readable.text) };
}

function readOutline(document: FencedDocument, parts: Part[]): Review {
  const reading = readVerdict(parts);
  const stated = soleVerdict(reading);
  if (!document.unbalanced) return readParts(parts, reading, stated);
  // An approval is taken only from text that no reading of the document puts into a code block.
  const isHidden =
    stated === 'APPROVED' &&
    document.recovered !== null &&
    soleVerdict(readVerdict(outlineOf(document.root, document.text))) !== 'APPROVED';
  const verdict = isHidden ? null : stated;
  const review = readParts(parts, reading, verdict);
  const severity = verdict === null ? 'error' : 'warning';
  const unbalanced = problem('unbalanced-fence', severity, 'A code fence is opened and never closed.');
  return { ...review, problems: [unbalanced, ...review.problems] };
}

/** Why a reply is no review at all but a failure of the provider, or null. */
export function unusableReview(source: string): string | null {
  const failure = readReview(source).problems.find(({ code }) => code === 'empty' || code === 'error-banner');
  return failure?.message ?? null;
}

/** The one verdict that is stated. A ticked box counts even when the words beside it name a condition. */
function soleVerdict({ verdicts, untickedOnly }: VerdictReading): Verdict | null {
  const [verdict] = verdicts;
  return verdict !== undefined && verdicts.size === 1 && !untickedOnly ? verdict : null;
}

/** A reply without the sections of a review: JSON, an error in its place, or null when prose has to do. */
function readUnstructured({ text, root }: FencedDocument, parts: Part[]): Review | null {
  const json = findJson(text, root);
  if (json === 'damaged')
    return { ...NOTHING, problems: [problem('damaged-json', 'error', 'The JSON in the reply can’t be parsed.')] };
  const markdown = json && markdownOf(json.value, json.source);
  if (json && markdown) {
    const [before = '', after = ''] = text.split(json.source).map((part) => part.replace(/^\s*`{3,}\w*\s*$/gm, ''));
    return readReview(`${before}\n\n${markdown}${after}`);
  }
  const isTitled = parts.some(({ kind }) => kind === 'title' || kind === 'identity');
  const isSilent = !saysVerdict(readVerdict(parts)) && !isTitled && text.length <= LONGEST_ERROR;
  const isError =
    (json && isErrorObject(json.value)) || ERROR_FIRST.test(text) || (isSilent && ERROR.test(text.slice(0, 500)));
  if (!isError) return null;
  return { ...NOTHING, problems: [problem('error-banner', 'error', 'An error message stands in place of a review.')] };
}

function saysVerdict({ verdicts, untickedOnly, qualified }: VerdictReading): boolean {
  return verdicts.size > 0 || untickedOnly || qualified;
}

function readParts(parts: Part[], reading: VerdictReading, stated: Verdict | null): Review {
  const preFlight = preFlightOf(parts);
  const hasTiers = parts.some(({ kind }) => kind === 'tier');
  const gateDecides = preFlight === 'FAILED' && reading.verdicts.size === 0 && !reading.qualified && !hasTiers;
  const verdict = gateDecides ? 'REVISE' : stated;
  const { resolved, forAPerson, unanswered } = openQuestionsOf(parts);
  const { findings, unranked } = findingsOf(parts, verdict);
  if (preFlight === 'FAILED' && verdict !== 'APPROVED') findings.unshift(...gateFindings(parts));
  if (verdict === 'REVISE' && findings.length === 0 && !hasTiers) findings.push(...statedReason(parts, reading));
  const title = parts.find(({ kind }) => kind === 'title') ?? parts.find(({ depth }) => depth === 1);
  const review: Review = {
    verdict,
    problems: [],
    findings,
    openQuestions: resolved,
    questionsForOrchestrator: [...questionsOf(parts), ...forAPerson],
    coverage: coverageOf(parts),
    preFlight,
    title: title?.title ?? null,
    summary: textOf(parts, 'summary') || null,
    rulings: rulingsIn(
      parts.filter(({ kind }) => kind !== 'coverage').flatMap((part) => part.blocks.flatMap((node) => linesOf(node))),
    ),
  };
  const facts = { ...review, unranked, unanswered: [...review.questionsForOrchestrator, ...unanswered] };
  const doubts = verdict === 'APPROVED' ? doubtsOf(parts, reading, facts) : [];
  return {
    ...review,
    problems: [
      ...(gateDecides ? [] : verdictProblems(reading, verdict)),
      ...doubts.map((doubt) => problem('approval-in-doubt', 'error', doubt)),
      ...contradictions(parts, review),
    ],
  };
}

function textOf(parts: Part[], kind: Part['kind'], isWanted?: (node: RootContent) => boolean): string {
  const blocks = parts.filter((part) => part.kind === kind).flatMap((part) => part.blocks);
  return blockText(isWanted ? blocks.filter(isWanted) : blocks);
}

/** A short rejection without tiers ("# Governance Verdict: BLOCK" and a paragraph): its reason is what has to be fixed. */
function statedReason(parts: Part[], { rejection }: VerdictReading): Finding[] {
  const text = rejection ?? (textOf(parts, 'verdict', isSentences) || textOf(parts, 'summary', isSentences));
  return text.split(/\s+/).length > 5 ? [{ tier: 1, area: '', text }] : [];
}

function isSentences(node: RootContent): boolean {
  const isSaid = ({ text, box }: Line): boolean => box === null && !/^(?:#|\W*verdict\b)/i.test(text);
  return node.type === 'paragraph' && linesOf(node).every(isSaid);
}

/** The tier's own heading: below it nothing of the tier is missing. */
function beginsTier({ kind, title }: Part): boolean {
  return kind === 'tier' && knownArea(title) === null;
}

function startsInTheMiddle(parts: Part[]): boolean {
  const [preamble, first] = parts;
  if (!preamble || !first || !hasReviewSections(parts)) return false;
  const hasBeginning = parts.some(({ kind }) => kind === 'title' || kind === 'identity' || kind === 'summary');
  if (hasBeginning && preamble.blocks.length === 0) return false;
  const opening = blockText(preamble.blocks);
  if (opening !== '') return /^(?:[\p{Ll}|,.;:)\]}]|\W{0,2}-\s)/u.test(opening) || preamble.blocks[0]?.type === 'list';
  return first.kind === 'questions' || (first.kind === 'tier' && (first.tier > 1 || !beginsTier(first)));
}

function problem(code: ReviewProblemCode, severity: ReviewProblem['severity'], message: string): ReviewProblem {
  return { code, severity, message };
}

/** Why there is no verdict, or more than one. */
function verdictProblems(
  { verdicts, qualified, untickedOnly }: VerdictReading,
  verdict: Verdict | null,
): ReviewProblem[] {
  if (verdicts.size > 1)
    return [problem('two-verdicts', 'error', `It states more than one verdict: ${[...verdicts].join(', ')}.`)];
  if (qualified && (verdict === null || verdict === 'APPROVED'))
    return [problem('conditional-approval', 'error', 'It approves in a sentence with more in it: tick one box.')];
  const why = untickedOnly ? 'No verdict box is ticked.' : 'It states no verdict.';
  return verdict === null ? [problem('no-verdict', 'error', why)] : [];
}

/** What else keeps a verdict from being relied on, or is odd about it. */
function contradictions(parts: Part[], { verdict, findings, preFlight }: Review): ReviewProblem[] {
  const problems: ReviewProblem[] = [];
  if (verdict === 'APPROVED' && preFlight === 'FAILED') {
    const message = 'It is APPROVED although the Pre-Flight gate FAILED.';
    problems.push(problem('approved-with-failed-gate', 'error', message));
  }
  if (verdict === 'REVISE' && !findings.some(({ tier }) => tier < 3)) {
    const message = 'It asks for a revision without a Tier 1 or Tier 2 finding.';
    problems.push(problem('revise-without-findings', 'warning', message));
  }
  if (startsInTheMiddle(parts)) {
    const hidesTierOne = verdict === 'APPROVED' && !parts.some((part) => part.tier === 1 && beginsTier(part));
    const severity = hidesTierOne ? 'error' : 'warning';
    problems.push(problem('starts-in-the-middle', severity, 'The beginning of the review is missing.'));
  }
  return problems;
}

/** Whether a text is a review, a damaged one included. An LLD, any other document, an error or an empty file is none. */
export function isReview(source: string): boolean {
  const { text } = repairMojibake(normaliseText(source));
  if (text.trim() === '' || isLld(text)) return false;
  const { document, parts } = outlineOfText(text);
  if (saysVerdict(readVerdict(parts))) return hasReviewSections(parts) || !ERROR_FIRST.test(text);
  const isTitled = parts.some(({ kind }) => kind === 'title');
  // Headings that hardly any other document has; one of them is enough below a title.
  const telling = parts.filter(
    ({ kind, title }) => kind === 'identity' || kind === 'pre-flight' || (kind === 'tier' && /\btier\b/i.test(title)),
  );
  const kinds = new Set(telling.map(({ kind, tier }) => `${kind} ${tier}`));
  if (kinds.size > 1 || (kinds.size === 1 && (isTitled || kinds.has('pre-flight 0')))) return true;
  if (isTitled && parts.some(({ kind }) => ['verdict', 'summary', 'coverage'].includes(kind))) return true;
  const json = findJson(document.text, document.root);
  if (json === 'damaged') return /"(?:verdict|decision)"\s*:/.test(document.text);
  return json !== null && markdownOf(json.value, json.source) !== null;
}
