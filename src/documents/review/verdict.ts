import type { Code, RootContent, Table } from 'mdast';
import { plainText } from '../markdown.ts';
import { jsonVerdicts, parseLenientJson } from './json.ts';
import { bareTitle, type Part } from './outline.ts';
import type { Verdict } from './review.ts';
import { type Line, linesOf } from './text.ts';
import {
  foreignLabel,
  labelledVerdict,
  offersChoice,
  standsAlone,
  type VerdictWord,
  verdictWord,
} from './verdict-word.ts';

const HEADING_LABEL =
  /\b(?:verdict|decision|recommendation|outcome|determination|disposition|conclusion)\b\s*[:=–—(-]+\s*(.*)$/i;
/** Where boxes have another meaning, a lone ticked verdict word is none. */
const BOXES_ANYWHERE: Part['kind'][] = ['preamble', 'title', 'summary', 'other', 'identity'];
const SILENT: Part['kind'][] = ['coverage', 'previous', 'open-questions'];

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
  const ticks: boolean[] = [];
  const state = (word: VerdictWord | null, part: Part, line: number): void => {
    if (!word || offersChoice(word)) return;
    if (word.verdict === 'APPROVED' && !standsAlone(word)) reading.qualified = true;
    else reading.verdicts.add(word.verdict);
    if (word.verdict === 'APPROVED') reading.approval ??= { part, line };
  };
  for (const [at, part] of parts.entries()) {
    if (SILENT.includes(part.kind)) continue;
    state(wordInHeading(part), part, -1);
    const isVerdict = part.kind === 'verdict';
    const isQuiet = part.kind === 'tier' || part.kind === 'questions';
    let number = 0;
    for (const [index, node] of part.blocks.entries()) {
      if (isVerdict && node.type === 'code') readStructure(node, reading, part);
      const lines = linesOf(node);
      const boxes = verdictBoxes(lines);
      const isLegend = isVerdict || new Set(boxes.map(({ verdict }) => verdict)).size > 1;
      for (const { verdict, ticked, line } of isLegend || BOXES_ANYWHERE.includes(part.kind) ? boxes : []) {
        ticks.push(ticked);
        if (ticked) reading.verdicts.add(verdict);
        if (ticked && verdict === 'APPROVED') reading.approval ??= { part, line: number + line };
      }
      const isSkipped = isCoverageTalk(part, index);
      if (node.type === 'table' && !isQuiet && !isSkipped) state(wordInTable(node), part, number + 1);
      for (const [offset, line] of lines.entries()) {
        if (isSkipped || line.box !== null || (isQuiet && node.type !== 'paragraph') || line.nested) continue;
        const isFirst = at === 0 && index === 0 && offset === 0;
        const isPlace = isVerdict || isFirst || (part.kind === 'other' && isBareWord(line.text));
        const isLast = at === parts.length - 1 && index === part.blocks.length - 1 && lines.length === 1;
        const word = isPlace ? plainStatement(line.text) : isLast ? wholeStatement(line.text) : null;
        state(labelledVerdict(line.text) ?? word, part, number + offset);
      }
      number += lines.length;
    }
  }
  reading.untickedOnly = ticks.length > 0 && !ticks.includes(true);
  readProse(parts, reading);
  return reading;
}

/** A JSON object in the verdict's own section is no quotation, although it stands in a code block. */
function readStructure(node: Code, reading: VerdictReading, part: Part): void {
  const value = /^(?:json.*)?$/i.test(node.lang ?? '') ? parseLenientJson(node.value) : null;
  if (value === null) return;
  const { stated, blocking } = jsonVerdicts(value, node.value);
  for (const word of stated.map(verdictWord)) if (word && !offersChoice(word)) reading.verdicts.add(word.verdict);
  if (reading.verdicts.has('APPROVED')) reading.approval ??= { part, line: 0 };
  reading.blocking.push(...blocking);
}

function wordInHeading(part: Part): VerdictWord | null {
  const title = bareTitle(part.title);
  if (part.kind === 'title' || part.kind === 'tier' || title === '') return null;
  if (part.kind === 'other' && foreignLabel(title) !== null) return labelledVerdict(title);
  const isVerdict = part.kind === 'verdict';
  const said = (isVerdict ? HEADING_LABEL.exec(title)?.[1] : undefined) ?? title;
  return isVerdict ? verdictWord(said) : wholeStatement(said);
}

/** A column called Verdict with one row. */
function wordInTable({ children: [head, row, ...more] }: Table): VerdictWord | null {
  const isVerdict = /^\W*(?:final |overall )?(?:verdict|decision)\W*$/i;
  const column = head?.children.findIndex((cell) => isVerdict.test(plainText(cell))) ?? -1;
  return column < 0 || !row || more.length > 0 ? null : plainStatement(plainText(row.children[column]));
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

function verdictBoxes(lines: Line[]): { verdict: Verdict; ticked: boolean; line: number }[] {
  return lines.flatMap(({ text, box }, line) => {
    const verdict = box === null ? undefined : (verdictWord(text) ?? labelledVerdict(text))?.verdict;
    if (verdict === undefined) return [];
    return [{ verdict, line, ticked: box === 'ticked' || (box === 'crossed' && verdict !== 'APPROVED') }];
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
/** May also tell of an earlier round, so that it counts only where nothing else is said. */
const REJECTS =
  /\b(?:I|[Ww]e) (?:(?:have|must|am|are) )?(?:reject(?:ed|ing)?|REJECT(?:ED)?) (?:this|the) (?:LLD|design|document|draft|issue)\b/;
const NO_PROSE: Part['kind'][] = [...SILENT, 'tier', 'questions'];

/** Prose can send a draft back, in capitals; it can't approve. It can't stand beside an approval either. */
function readProse(parts: Part[], reading: VerdictReading): void {
  const { verdicts, untickedOnly, qualified } = reading;
  const isSilent = verdicts.size === 0 && !untickedOnly && !qualified;
  if (!isSilent && !verdicts.has('APPROVED')) return;
  const sentence = parts
    .filter(({ kind }) => !NO_PROSE.includes(kind))
    .flatMap(({ blocks }) => blocks.filter(({ type }) => type === 'paragraph'))
    .map((node) =>
      linesOf(node)
        .map(({ text }) => text)
        .join(' '),
    )
    // Beside an approval, what was rejected is history.
    .find((text) =>
      isSilent ? REJECTED.test(text) || REJECTS.test(text) : REJECTED.test(text.replace(/\bwas\b/g, '')),
    );
  if (sentence === undefined) return;
  verdicts.add('REVISE');
  if (isSilent) reading.rejection = sentence;
}
