import type { RootContent } from 'mdast';
import { plainText } from '../markdown.ts';
import { bareTitle } from './headings.ts';
import { parseJson, readJsonReview } from './json-review.ts';
import { type Line, linesOf } from './lines.ts';
import type { Part } from './outline.ts';
import type { Verdict } from './review.ts';
import {
  labelledVerdict,
  offersChoice,
  rejectsInProse,
  shoutsRejection,
  standsAlone,
  type VerdictWord,
  verdictsInProse,
  verdictWord,
} from './verdict-word.ts';

/** What the document says about its verdict, before anything is concluded from it. */
export interface VerdictReading {
  verdicts: Set<Verdict>;
  /** Verdict boxes are there, and none of them is ticked. */
  untickedOnly: boolean;
  conditional: boolean;
  /** Where prose is all there is: the paragraph that rejects, which is then the finding too. */
  rejection: string | null;
}

const HEADING_LABEL =
  /\b(?:verdict|decision|recommendation|outcome|determination|disposition|conclusion)\b\s*[:=–—(-]+\s*(.*)$/i;

/**
 * Statements count where a reviewer puts a verdict: in the boxes and plain lines of a verdict section, in a heading
 * ("Governance Verdict: BLOCK"), in a labelled line ("**Verdict:** REVISE") and in a set of verdict boxes that lost its
 * heading. The coverage section has a verdict of its own, and earlier reviews are history: neither counts.
 */
export function readVerdict(parts: Part[]): VerdictReading {
  const reading: VerdictReading = { verdicts: new Set(), untickedOnly: false, conditional: false, rejection: null };
  const boxes: { verdict: Verdict; ticked: boolean }[] = [];
  const state = (word: VerdictWord | null): void => {
    if (!word || offersChoice(word)) return;
    if (word.conditional) reading.conditional = true;
    else reading.verdicts.add(word.verdict);
  };
  for (const part of parts) {
    if (part.kind === 'coverage' || part.kind === 'previous' || part.kind === 'open-questions') continue;
    state(wordInHeading(part));
    for (const [index, node] of part.blocks.entries()) {
      if (part.kind === 'verdict') stateJson(node, reading);
      const lines = linesOf(node);
      const found = verdictBoxes(lines);
      if (
        part.kind === 'verdict' ||
        new Set(found.map((box) => box.word.verdict)).size > 1 ||
        (found.length > 0 && allowsSingleBox(part))
      ) {
        for (const { word, ticked } of found) {
          boxes.push({ verdict: word.verdict, ticked });
          if (ticked && word.conditional) reading.conditional = true;
        }
      }
      if (isCoverageTalk(part, index)) continue;
      const isQuiet = part.kind === 'tier' || part.kind === 'questions';
      for (const line of lines) {
        if (isLoneCross(line, lines) && part.kind === 'verdict') state(exceptApproval(verdictWord(line.text)));
        if (line.box !== null || (isQuiet && node.type !== 'paragraph') || line.nested) continue;
        state(labelledVerdict(line.text) ?? (part.kind === 'verdict' ? plainStatement(line.text) : null));
      }
    }
  }
  for (const box of boxes) if (box.ticked) reading.verdicts.add(box.verdict);
  reading.untickedOnly = boxes.length > 0 && boxes.every((box) => !box.ticked);
  if (reading.verdicts.size === 0 && !reading.untickedOnly && !reading.conditional) readProse(parts, reading);
  return contradictedByProse(parts, reading);
}

/** A JSON object in the verdict's own section is no quotation, although it stands in a code block. */
function stateJson(node: RootContent, reading: VerdictReading): void {
  if (node.type !== 'code' || !/^json/i.test(node.lang ?? '')) return;
  const value = parseJson(node.value);
  const review = value ? readJsonReview(value, node.value) : null;
  for (const verdict of review?.verdicts ?? []) reading.verdicts.add(verdict);
  if (review?.conditional) reading.conditional = true;
}

function wordInHeading(part: Part): VerdictWord | null {
  const title = bareTitle(part.title);
  if (part.kind === 'title' || part.kind === 'tier' || title === '') return null;
  const word = verdictWord((part.kind === 'verdict' ? HEADING_LABEL.exec(title)?.[1] : undefined) ?? title);
  return word && (standsAlone(word) || word.conditional) && (part.kind === 'verdict' || /^\W*$/.test(word.rest))
    ? word
    : null;
}

function plainStatement(text: string): VerdictWord | null {
  const word = verdictWord(text);
  return word && standsAlone(word) ? word : null;
}

/** "❌ REVISE" with no other box beside it: the cross is a sign of the verdict, not a box. */
function isLoneCross(line: Line, lines: Line[]): boolean {
  return line.box === 'crossed' && lines.filter(({ box }) => box !== null).length === 1;
}

function exceptApproval(word: VerdictWord | null): VerdictWord | null {
  return word?.verdict === 'APPROVED' ? null : word;
}

/** A lone ticked verdict word may stand outside of a verdict section, but not where boxes have another meaning. */
function allowsSingleBox(part: Part): boolean {
  return (
    part.kind === 'preamble' ||
    part.kind === 'title' ||
    part.kind === 'summary' ||
    part.kind === 'other' ||
    part.kind === 'identity'
  );
}

function verdictBoxes(lines: Line[]): { word: VerdictWord; ticked: boolean }[] {
  const crossTicks = lines.some((line) => line.box === 'unticked') && !lines.some((line) => line.box === 'ticked');
  return lines.flatMap(({ text, box }) => {
    const word = box === null ? null : (verdictWord(text) ?? labelledVerdict(text));
    if (word && word.verdict !== 'APPROVED' && isLoneCross({ text, box, nested: false }, lines)) return [];
    return word ? [{ word, ticked: box === 'ticked' || (box === 'crossed' && crossTicks) }] : [];
  });
}

/** The coverage section's own verdict, when its heading was lost: it follows the table or the calculation. */
function isCoverageTalk(part: Part, index: number): boolean {
  if (part.kind === 'verdict' || part.kind === 'tier') return false;
  return part.blocks.slice(0, index + 1).some((node: RootContent) => {
    if (node.type === 'table') return /require/i.test(plainText(node.children[0]));
    return node.type === 'paragraph' && /^\W*(?:requirement |test )?coverage\b/i.test(plainText(node));
  });
}

function paragraphsOf(part: Part): string[] {
  return part.blocks
    .filter((node) => node.type === 'paragraph')
    .map((node) =>
      linesOf(node)
        .map((line) => line.text)
        .join(' '),
    );
}

function readProse(parts: Part[], reading: VerdictReading): void {
  for (const part of parts.filter(({ kind }) => kind === 'verdict')) {
    for (const verdict of verdictsInProse(paragraphsOf(part).join('\n'))) reading.verdicts.add(verdict);
  }
  if (reading.verdicts.size > 0) return;
  for (const part of parts) {
    if (part.kind === 'previous' || part.kind === 'coverage') continue;
    reading.rejection ??= paragraphsOf(part).find((text) => rejectsInProse(text) || shoutsRejection(text)) ?? null;
  }
  if (reading.rejection !== null) reading.verdicts.add('REVISE');
}

/** A summary that says in capitals that the draft is REJECTED can't stand beside an approval. */
function contradictedByProse(parts: Part[], reading: VerdictReading): VerdictReading {
  const outspoken = parts
    .filter(({ kind }) => kind === 'preamble' || kind === 'title' || kind === 'summary' || kind === 'verdict')
    .flatMap(paragraphsOf)
    .some((paragraph) => rejectsInProse(paragraph) && /\b(?:REJECTED|BLOCKED)\b/.test(paragraph));
  if (outspoken && reading.verdicts.has('APPROVED')) reading.verdicts.add('REVISE');
  return reading;
}
