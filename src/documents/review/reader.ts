import type { Root, RootContent } from 'mdast';
import { normaliseText } from '../markdown.ts';
import { isErrorBanner, isErrorObject, startsWithError } from './banner.ts';
import { coverageOf } from './coverage.ts';
import { parseFenced } from './fences.ts';
import { findingsOf } from './findings.ts';
import { knownArea } from './headings.ts';
import { findJson, type JsonReview, readJsonReview } from './json-review.ts';
import { linesOf } from './lines.ts';
import { repairMojibake } from './mojibake.ts';
import { hasReviewSections, outlineOf, type Part } from './outline.ts';
import { gateFindings, preFlightOf } from './pre-flight.ts';
import { approvalProblems, problem, verdictProblems } from './problems.ts';
import { openQuestionsOf, questionsOf } from './questions.ts';
import type { Finding, Review, ReviewProblem, Verdict } from './review.ts';
import { rulingsIn } from './rulings.ts';
import { blockText } from './text.ts';
import { readVerdict, type VerdictReading } from './verdict.ts';

export { isReview } from './is-review.ts';
export { isTrustworthy, type Review } from './review.ts';

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
  const document = parseFenced(text);
  const parts = outlineOf((document.recovered ?? document).root, (document.recovered ?? document).text);
  const problems: ReviewProblem[] = [];
  if (damaged) problems.push(problem('mojibake', 'warning', 'Text was decoded with the wrong character set.'));

  if (!hasReviewSections(parts)) {
    const other = readUnstructured(document.text, document.root, parts);
    if (other) return { ...other, problems: [...problems, ...other.problems] };
  }
  const reading = readVerdict(parts);
  let verdict = soleVerdict(reading);
  if (document.unbalanced) {
    const outside = document.recovered ? soleVerdict(readVerdict(outlineOf(document.root, document.text))) : verdict;
    // An approval is taken only from text that no reading of the document puts into a code block.
    if (document.recovered && verdict === 'APPROVED' && outside !== 'APPROVED') verdict = null;
    const severity = verdict === null ? 'error' : 'warning';
    problems.push(problem('unbalanced-fence', severity, 'A code fence is opened and never closed.'));
  }
  const review = readParts(parts, reading, verdict);
  return { ...review, problems: [...problems, ...review.problems] };
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
function readUnstructured(text: string, root: Root, parts: Part[]): Review | null {
  const json = findJson(text, root);
  if (json === 'damaged')
    return { ...NOTHING, problems: [problem('damaged-json', 'error', 'The JSON in the reply can’t be parsed.')] };
  const review = json ? readJsonReview(json.value, json.source) : null;
  const around = readVerdict(parts);
  if (review) return fromJson(review, around);
  const saysNothing = around.verdicts.size === 0 && !around.untickedOnly && !around.conditional;
  const isTitled = parts.some(({ kind }) => kind === 'title' || kind === 'identity');
  const isError =
    (json && isErrorObject(json.value)) || startsWithError(text) || (saysNothing && !isTitled && isErrorBanner(text));
  if (!isError) return null;
  return { ...NOTHING, problems: [problem('error-banner', 'error', 'An error message stands in place of a review.')] };
}

function fromJson(json: JsonReview, around: VerdictReading): Review {
  const { verdicts, conditional, ...rest } = json;
  const reading = {
    ...around,
    verdicts: new Set([...verdicts, ...around.verdicts]),
    conditional: conditional || around.conditional,
  };
  const verdict = soleVerdict(reading);
  const review: Review = { ...NOTHING, ...rest, verdict };
  return { ...review, problems: [...verdictProblems(reading, verdict, false), ...approvalProblems(review)] };
}

function readParts(parts: Part[], reading: VerdictReading, stated: Verdict | null): Review {
  const preFlight = preFlightOf(parts);
  const gateDecides =
    preFlight === 'FAILED' &&
    reading.verdicts.size === 0 &&
    !reading.conditional &&
    !parts.some(({ kind }) => kind === 'tier');
  const verdict = gateDecides ? 'REVISE' : stated;
  const { coverage, contradictsTable } = coverageOf(parts);
  const { resolved, forAPerson } = openQuestionsOf(parts);
  const findings = findingsOf(parts, verdict);
  if (preFlight === 'FAILED' && verdict !== 'APPROVED') findings.unshift(...gateFindings(parts));
  if (verdict === 'REVISE' && findings.length === 0) findings.push(...statedReason(parts, reading));
  const title = parts.find(({ kind }) => kind === 'title') ?? parts.find(({ depth }) => depth === 1);
  const review: Review = {
    verdict,
    problems: [],
    findings,
    openQuestions: resolved,
    questionsForOrchestrator: [...questionsOf(parts), ...forAPerson],
    coverage,
    preFlight,
    title: title?.title ?? null,
    summary: textOf(parts, 'summary') || null,
    rulings: rulingsIn(
      parts.filter(({ kind }) => kind !== 'coverage').flatMap((part) => part.blocks.flatMap((node) => linesOf(node))),
    ),
  };
  const problems = [...(gateDecides ? [] : verdictProblems(reading, verdict, true)), ...approvalProblems(review)];
  if (contradictsTable)
    problems.push(problem('coverage-mismatch', 'warning', 'The coverage line and its table count differently.'));
  if (startsInTheMiddle(parts)) {
    const hidesTierOne = verdict === 'APPROVED' && !parts.some(beginsTierOne);
    problems.push(
      problem('starts-in-the-middle', hidesTierOne ? 'error' : 'warning', 'The beginning of the review is missing.'),
    );
  }
  return { ...review, problems };
}

function textOf(parts: Part[], kind: Part['kind']): string {
  return blockText(parts.filter((part) => part.kind === kind).flatMap((part) => part.blocks));
}

/** A short rejection without tiers ("# Governance Verdict: BLOCK" and a paragraph): its reason is what has to be fixed. */
function statedReason(parts: Part[], reading: VerdictReading): Finding[] {
  if (parts.some(({ kind }) => kind === 'tier')) return [];
  const reasonIn = (kind: Part['kind']): string =>
    blockText(parts.filter((part) => part.kind === kind).flatMap((part) => part.blocks.filter(isSentences)));
  const text = reading.rejection ?? (reasonIn('verdict') || reasonIn('summary'));
  return text.split(/\s+/).length > 5 ? [{ tier: 1, area: '', text }] : [];
}

function isSentences(node: RootContent): boolean {
  return (
    node.type === 'paragraph' &&
    linesOf(node).every(({ text, box }) => box === null && !/^(?:#|\W*verdict\b)/i.test(text))
  );
}

/** The tier's own heading: below it nothing of the tier is missing. */
function beginsTierOne({ kind, tier, title }: Part): boolean {
  return kind === 'tier' && tier === 1 && knownArea(title) === null;
}

function startsInTheMiddle(parts: Part[]): boolean {
  const [preamble, first] = parts;
  if (!preamble || !first || !hasReviewSections(parts)) return false;
  const hasBeginning = parts.some(({ kind }) => kind === 'title' || kind === 'identity' || kind === 'summary');
  if (hasBeginning && preamble.blocks.length === 0) return false;
  const opening = blockText(preamble.blocks);
  if (opening !== '') return /^(?:[\p{Ll}|,.;:)\]}]|\W{0,2}-\s)/u.test(opening) || preamble.blocks[0]?.type === 'list';
  return first.kind === 'questions' || (first.kind === 'tier' && (first.tier > 1 || first.depth > 2));
}
