import type { RootContent, Table } from 'mdast';
import { plainText } from '../markdown.ts';
import { bareTitle } from './headings.ts';
import { jsonVerdicts, parseLenientJson } from './json.ts';
import type { Part } from './outline.ts';
import type { Verdict } from './review.ts';
import { type Line, linesOf } from './text.ts';
import {
  FOREIGN_LABEL,
  labelledVerdict,
  offersChoice,
  standsAlone,
  type VerdictWord,
  verdictWord,
} from './verdict-word.ts';

const HEADING_LABEL =
  /\b(?:verdict|decision|recommendation|outcome|determination|disposition|conclusion)\b\s*[:=–—(-]+\s*(.*)$/i;

/** What the document says about its verdict, before anything is concluded from it. */
export interface VerdictReading {
  verdicts: Set<Verdict>;
  /** Verdict boxes are there, and none of them is ticked. */
  untickedOnly: boolean;
  /** An approval that continues as a sentence: "APPROVED once the loop is bounded". */
  qualified: boolean;
  /** Where prose is all there is: the paragraph that rejects, which is then the finding too. */
  rejection: string | null;
  /** The part that approves, and the number of the line in it. */
  approval: { part: Part; line: number } | null;
  /** What a JSON block beside the verdict calls blocking. */
  blocking: string[];
}

/**
 * Statements count where a reviewer puts a verdict: in the boxes and plain lines of a verdict section, in a heading
 * ("Governance Verdict: BLOCK"), in a labelled line or a table's cell, as the very first line, and in a set of verdict
 * boxes that lost its heading. The coverage section has a verdict of its own, and earlier reviews are history.
 */
export function readVerdict(parts: Part[]): VerdictReading {
  const reading: VerdictReading = {
    verdicts: new Set(),
    untickedOnly: false,
    qualified: false,
    rejection: null,
    approval: null,
    blocking: [],
  };
  const boxes: { verdict: Verdict; ticked: boolean }[] = [];
  const state = (word: VerdictWord | null, part: Part, line: number): void => {
    if (!word || offersChoice(word)) return;
    if (word.verdict === 'APPROVED' && !standsAlone(word)) reading.qualified = true;
    else reading.verdicts.add(word.verdict);
    if (word.verdict === 'APPROVED') reading.approval ??= { part, line };
  };
  for (const [at, part] of parts.entries()) {
    if (part.kind === 'coverage' || part.kind === 'previous' || part.kind === 'open-questions') continue;
    state(wordInHeading(part), part, -1);
    let number = 0;
    const isQuiet = part.kind === 'tier' || part.kind === 'questions';
    for (const [index, node] of part.blocks.entries()) {
      if (part.kind === 'verdict') readStructure(node, reading, part);
      const lines = linesOf(node);
      const found = verdictBoxes(lines);
      const isLegend = part.kind === 'verdict' || new Set(found.map(({ word }) => word.verdict)).size > 1;
      if (isLegend || (found.length > 0 && allowsSingleBox(part))) {
        for (const { word, ticked, line } of found) {
          boxes.push({ verdict: word.verdict, ticked });
          if (ticked && word.verdict === 'APPROVED') reading.approval ??= { part, line: number + line };
        }
      }
      if (!isCoverageTalk(part, index)) {
        if (node.type === 'table' && !isQuiet) state(wordInTable(node), part, number + 1);
        for (const [offset, line] of lines.entries()) {
          const isFirst = at === 0 && index === 0 && offset === 0;
          if (isLoneCross(line, lines) && part.kind === 'verdict')
            state(exceptApproval(line.text), part, number + offset);
          if (line.box !== null || (isQuiet && node.type !== 'paragraph') || line.nested) continue;
          const isPlace = part.kind === 'verdict' || isFirst || (part.kind === 'other' && isBareWord(line.text));
          const isLast = at === parts.length - 1 && index === part.blocks.length - 1 && lines.length === 1;
          const word = isPlace ? plainStatement(line.text) : isLast ? wholeStatement(line.text) : null;
          state(labelledVerdict(line.text) ?? word, part, number + offset);
        }
      }
      number += lines.length;
    }
  }
  for (const box of boxes) if (box.ticked) reading.verdicts.add(box.verdict);
  reading.untickedOnly = boxes.length > 0 && boxes.every((box) => !box.ticked);
  readProse(parts, reading);
  return reading;
}

/** A JSON object in the verdict's own section is no quotation, although it stands in a code block. */
function readStructure(node: RootContent, reading: VerdictReading, part: Part): void {
  const value = node.type === 'code' && /^(?:json.*)?$/i.test(node.lang ?? '') ? parseLenientJson(node.value) : null;
  if (node.type !== 'code' || value === null) return;
  const { stated, blocking } = jsonVerdicts(value, node.value);
  for (const word of stated.map(verdictWord)) if (word && !offersChoice(word)) reading.verdicts.add(word.verdict);
  if (reading.verdicts.has('APPROVED')) reading.approval ??= { part, line: 0 };
  reading.blocking.push(...blocking);
}

function wordInHeading(part: Part): VerdictWord | null {
  const title = bareTitle(part.title);
  if (part.kind === 'title' || part.kind === 'tier' || title === '') return null;
  if (part.kind === 'other' && FOREIGN_LABEL.test(title)) return labelledVerdict(title);
  const word = verdictWord((part.kind === 'verdict' ? HEADING_LABEL.exec(title)?.[1] : undefined) ?? title);
  return word && (part.kind === 'verdict' || /^\W*$/.test(word.rest)) ? word : null;
}

/** A column called Verdict with one row. */
function wordInTable({ children: [head, row, ...more] }: Table): VerdictWord | null {
  const column = head?.children.findIndex((cell) =>
    /^\W*(?:final |overall )?(?:verdict|decision)\W*$/i.test(plainText(cell)),
  );
  if (column === undefined || column < 0 || !row || more.length > 0) return null;
  return plainStatement(plainText(row.children[column]));
}

function plainStatement(text: string): VerdictWord | null {
  const word = verdictWord(text);
  return word && (standsAlone(word) || word.verdict === 'APPROVED') ? word : null;
}

/** "Request changes", "Approve": the last line of a comment on GitHub. */
export function wholeStatement(text: string): VerdictWord | null {
  const word = verdictWord(text);
  return word && /^\W*$/.test(word.rest) ? word : null;
}

/** In a section of unknown title, in whatever language, the word alone is enough. */
function isBareWord(text: string): boolean {
  return /^\W*(?:APPROVED|REVISE|DISCUSS|BLOCKED|REJECTED)\W*$/.test(text);
}

/** "❌ REVISE" with no other box beside it: the cross is a sign of the verdict, not a box. */
function isLoneCross(line: Line, lines: Line[]): boolean {
  return line.box === 'crossed' && lines.filter(({ box }) => box !== null).length === 1;
}

function exceptApproval(text: string): VerdictWord | null {
  const word = verdictWord(text);
  return word?.verdict === 'APPROVED' ? null : word;
}

/** A lone ticked verdict word may stand outside of a verdict section, but not where boxes have another meaning. */
function allowsSingleBox({ kind }: Part): boolean {
  return ['preamble', 'title', 'summary', 'other', 'identity'].includes(kind);
}

function verdictBoxes(lines: Line[]): { word: VerdictWord; ticked: boolean; line: number }[] {
  const crossTicks = lines.some((line) => line.box === 'unticked') && !lines.some((line) => line.box === 'ticked');
  return lines.flatMap((own, line) => {
    const { text, box } = own;
    const word = box === null ? null : (verdictWord(text) ?? labelledVerdict(text));
    if (word && word.verdict !== 'APPROVED' && isLoneCross(own, lines)) return [];
    return word ? [{ word, line, ticked: box === 'ticked' || (box === 'crossed' && crossTicks) }] : [];
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

const REJECTED =
  /^(?!.*\b(?:previously|earlier|not|never|would|if|option|alternative)\b[^.]*\bREJECTED\b).*\b(?:is|was|be|been|are)(?: \w+){0,2} (?:REJECTED|BLOCKED)\b|\b[Tt]h(?:is|e) (?:LLD|design|document|draft|issue) (?:is|must be) (?:hereby )?rejected\b|^\W*(?:REJECTED|I (?:am rejecting|reject) this)\b/;

/** Prose can send a draft back, in capitals; it can't approve. It can't stand beside an approval either. */
function readProse(parts: Part[], reading: VerdictReading): void {
  const { verdicts, untickedOnly, qualified } = reading;
  const isSilent = verdicts.size === 0 && !untickedOnly && !qualified;
  if (!isSilent && !verdicts.has('APPROVED')) return;
  const sentence = parts
    .filter(({ kind }) => !['previous', 'coverage', 'tier', 'questions', 'open-questions'].includes(kind))
    .flatMap(({ blocks }) => blocks.filter(({ type }) => type === 'paragraph'))
    .map((node) =>
      linesOf(node)
        .map(({ text }) => text)
        .join(' '),
    )
    // Beside an approval, what was rejected is history.
    .find((text) => REJECTED.test(isSilent ? text : text.replace(/\bwas\b/g, '')));
  if (sentence === undefined) return;
  verdicts.add('REVISE');
  if (isSilent) reading.rejection = sentence;
}
