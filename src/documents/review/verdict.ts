import { jsonVerdicts, parseJson } from './json.ts';
import { type Block, bareTitle, type Line, linesIn, type Part } from './outline.ts';
import type { Verdict } from './reader.ts';
import {
  labelledVerdict,
  offersChoice,
  standsAlone,
  VERDICT_LABEL,
  type VerdictWord,
  verdictWord,
  wholeStatement,
} from './words.ts';

/** Where boxes have another meaning, a lone ticked verdict word states nothing. */
const BOXES_ANYWHERE: Part['kind'][] = ['preamble', 'title', 'summary', 'other', 'identity'];
const SILENT: Part['kind'][] = ['coverage', 'previous', 'open-questions'];
const QUIET: Part['kind'][] = ['tier', 'questions'];
const HEADING_LABEL =
  /\b(?:verdict|decision|recommendation|outcome|determination|disposition|conclusion)\b\s*[:=–—(-]+\s*(.*)$/i;
/** Below a heading in any other language, the word alone is enough. */
const BARE_WORD = /^\W*(?:APPROVED|REVISE|DISCUSS|BLOCKED|REJECTED)\W*$/;

const OPTIONS = /^\W*(?:options?|alternatives?)\b/i;

/** What the document says about its verdict, before anything is concluded from it. */
export interface VerdictReading {
  verdicts: Set<Verdict>;
  /** There are verdict boxes, and none of them is ticked. */
  untickedOnly: boolean;
  /** An approval that continues as a sentence: "APPROVED once the loop is bounded". */
  qualified: boolean;
  /** The paragraph that rejects, if prose is all there is; it is the finding too. */
  rejection: string | null;
  /** The part and the line that approve; line null: its heading, or an object in it. */
  approval: { part: Part; line: Line | null } | null;
  /** What a JSON block beside the verdict calls blocking. */
  blocking: string[];
}

/**
 * Statements count where a reviewer puts a verdict: in the boxes and plain lines of a verdict section, in a heading
 * ("Governance Verdict: BLOCK"), in a labelled line or a table's cell, as the very first or last line, right below the title, and in a set of
 * verdict boxes that lost its heading. The coverage section has a verdict of its own, and earlier reviews are history.
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
  const add = (verdict: Verdict, part: Part, line: Line | null): void => {
    reading.verdicts.add(verdict);
    if (verdict === 'APPROVED') reading.approval ??= { part, line };
  };
  const state = (word: VerdictWord | null, part: Part, line: Line | null): void => {
    if (!word || offersChoice(word)) return;
    if (word.verdict !== 'APPROVED' || standsAlone(word)) add(word.verdict, part, line);
    else {
      reading.qualified = true;
      reading.approval ??= { part, line };
    }
  };
  const [preamble, title] = parts;
  const first = preamble?.blocks[0]?.lines[0];
  const below = preamble?.blocks.length === 0 && title?.kind === 'title' ? title.blocks[0]?.lines[0] : undefined;
  const lastBlock = parts.at(-1)?.blocks.at(-1);
  const last = lastBlock?.lines.length === 1 ? lastBlock.lines[0] : undefined;
  const ticks: boolean[] = [];
  for (const part of parts.filter(({ kind }) => !SILENT.includes(kind))) {
    const { kind } = part;
    state(wordInHeading(part), part, null);
    const boxes = linesIn(part).flatMap((line) => verdictBox(line) ?? []);
    const isLegend = kind === 'verdict' || new Set(boxes.map(({ verdict }) => verdict)).size > 1;
    for (const { verdict, ticked, line } of isLegend || BOXES_ANYWHERE.includes(kind) ? boxes : []) {
      ticks.push(ticked);
      if (ticked) add(verdict, part, line);
    }
    for (const block of part.blocks) {
      const { stated, blocking } = kind === 'verdict' ? structureIn(block) : { stated: [], blocking: [] };
      for (const word of stated) add(word.verdict, part, null);
      reading.blocking.push(...blocking);
      if (QUIET.includes(kind) && block.node.type !== 'paragraph') continue;
      for (const line of statementsIn(block).filter(({ box, depth }) => box === null && depth === 0)) {
        const isPlace = kind === 'verdict' || line === first || (kind === 'other' && BARE_WORD.test(line.said));
        const isWhole = line === last || line === below;
        const word = isPlace ? plainStatement(line.said) : isWhole ? wholeStatement(line.said) : null;
        state(labelledVerdict(line.said) ?? word, part, line);
      }
    }
  }
  reading.untickedOnly = ticks.length > 0 && !ticks.includes(true);
  readProse(parts, reading);
  return reading;
}

/**
 * The lines of a block as statements; below a column called Verdict, a row says `Verdict: APPROVED`, `Reviewer: …`. The template's table
 * of alternatives decides on options, not on the design.
 */
export function statementsIn({ node, lines }: Block): Line[] {
  const [head, ...rows] = lines;
  if (node.type !== 'table' || !head || rows.length === 0) return lines;
  const columns = head.said.split(' | ');
  if (!columns.some((name) => VERDICT_LABEL.test(name)) || OPTIONS.test(columns[0] ?? '')) return rows;
  return rows.flatMap((row) => {
    if (row.box !== null) return [row];
    return row.said.split(' | ').map((cell, index) => {
      const name = columns[index] ?? '';
      return { ...row, said: /^(?:meaning|description)$/i.test(name) ? cell : `${name}: ${cell}` };
    });
  });
}

/** A JSON object in the verdict's own section is no quotation, although it stands in a code block. */
function structureIn({ node }: Block): { stated: VerdictWord[]; blocking: string[] } {
  const isJson = node.type === 'code' && /^(?:json.*)?$/i.test(node.lang ?? '');
  const value = isJson ? parseJson(node.value) : null;
  const { stated, blocking } = isJson && value !== null ? jsonVerdicts(value) : { stated: [], blocking: [] };
  return { stated: stated.flatMap((said) => verdictWord(said) ?? []).filter((word) => !offersChoice(word)), blocking };
}

/** A title may be about verdicts; only one that is nothing else behind its colon states one. */
function wordInHeading({ kind, title: given }: Part): VerdictWord | null {
  const title = bareTitle(given);
  if (kind === 'title') return title.includes(':') ? wholeStatement(title.replace(/^.*:/, '')) : null;
  if (kind === 'verdict') return verdictWord(HEADING_LABEL.exec(title)?.[1] ?? title);
  if (kind === 'other' && title.includes(':')) return labelledVerdict(title);
  return kind === 'tier' ? null : wholeStatement(title);
}

function plainStatement(text: string): VerdictWord | null {
  const word = verdictWord(text);
  return word && (standsAlone(word) || word.verdict === 'APPROVED') ? word : null;
}

function verdictBox(line: Line): { verdict: Verdict; ticked: boolean; line: Line } | null {
  const verdict = line.box === null ? undefined : (verdictWord(line.said) ?? labelledVerdict(line.said))?.verdict;
  if (verdict === undefined) return null;
  return { verdict, line, ticked: line.box === 'ticked' || (line.box === 'crossed' && verdict !== 'APPROVED') };
}

const REJECTED =
  /^(?!.*\b(?:previously|earlier|not|never|would|if|option|alternative)\b[^.]*\bREJECTED\b).*\b(?:is|was|be|been|are)(?: \w+){0,2} (?:REJECTED|BLOCKED)\b|\b[Tt]h(?:is|e) (?:LLD|design|document|draft|issue) (?:is|must be) (?:hereby )?rejected\b|^\W*(?:REJECTED|I (?:am rejecting|reject|(?:have )?REJECTED) th(?:is|e))\b/;

/** Prose can send a draft back, in capitals; it can't approve, and it can't stand beside an approval. */
function readProse(parts: Part[], reading: VerdictReading): void {
  const { verdicts, untickedOnly, qualified } = reading;
  const isSilent = verdicts.size === 0 && !untickedOnly && !qualified;
  if (!isSilent && !verdicts.has('APPROVED')) return;
  const sentence = parts
    .filter(({ kind }) => ![...SILENT, ...QUIET].includes(kind))
    .flatMap(({ blocks }) => blocks.filter(({ node }) => node.type === 'paragraph'))
    .map(({ lines }) => lines.map(({ said }) => said).join(' '))
    // Beside an approval, what was rejected is history.
    .find((text) => REJECTED.test(isSilent ? text : text.replace(/\bwas\b/g, '')));
  if (sentence === undefined) return;
  verdicts.add('REVISE');
  if (isSilent) reading.rejection = sentence;
}
