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

export const NO_VERDICT = 'It states no verdict.';
export const NO_TICK = 'No verdict box is ticked.';

/** What the document says about its verdict. */
export interface VerdictReading {
  /** The one verdict that is stated. A ticked box counts even if the words beside it name a condition. */
  verdict: Verdict | null;
  /** Why that is none, or can't be relied on; null: it is plain. */
  problem: string | null;
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
  const verdicts = new Set<Verdict>();
  const blocking: string[] = [];
  const ticks: boolean[] = [];
  let approval: VerdictReading['approval'] = null;
  /** An approval that continues as a sentence: "APPROVED once the loop is bounded". */
  let isQualified = false;
  const add = (verdict: Verdict, part: Part, line: Line | null): void => {
    verdicts.add(verdict);
    if (verdict === 'APPROVED') approval ??= { part, line };
  };
  const state = (word: VerdictWord | null, part: Part, line: Line | null): void => {
    if (!word || offersChoice(word)) return;
    if (word.verdict !== 'APPROVED' || standsAlone(word)) add(word.verdict, part, line);
    else {
      isQualified = true;
      approval ??= { part, line };
    }
  };
  const [preamble, title] = parts;
  const first = preamble?.blocks[0]?.lines[0];
  const below = preamble?.blocks.length === 0 && title?.kind === 'title' ? title.blocks[0]?.lines[0] : undefined;
  const lastBlock = parts.at(-1)?.blocks.at(-1);
  const last = lastBlock?.lines.length === 1 ? lastBlock.lines[0] : undefined;
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
      const json = kind === 'verdict' ? jsonIn(block) : null;
      const words = (json?.stated ?? []).flatMap((said) => verdictWord(said) ?? []);
      for (const word of words) if (!offersChoice(word)) add(word.verdict, part, null);
      blocking.push(...(json?.blocking ?? []));
      if (QUIET.includes(kind) && block.node.type !== 'paragraph') continue;
      for (const line of statementsIn(block).filter(({ box, depth }) => box === null && depth === 0)) {
        const isPlace = kind === 'verdict' || line === first || (kind === 'other' && BARE_WORD.test(line.said));
        const isWhole = line === last || line === below;
        const word = isPlace ? plainStatement(line.said) : isWhole ? wholeStatement(line.said) : null;
        state(labelledVerdict(line.said) ?? word, part, line);
      }
    }
  }
  const isUnticked = ticks.length > 0 && !ticks.includes(true);
  const isSilent = verdicts.size === 0 && !isUnticked && !isQualified;
  const rejection = isSilent || verdicts.has('APPROVED') ? rejectionIn(parts, isSilent) : null;
  if (rejection !== null) verdicts.add('REVISE');

  const [verdict = null, another] = verdicts;
  const stated = another !== undefined || isUnticked ? null : verdict;
  const isApproving = isQualified && (stated === null || stated === 'APPROVED');
  const none = isApproving
    ? 'It approves in a sentence with more in it: tick one box.'
    : isUnticked
      ? NO_TICK
      : NO_VERDICT;
  const problem = another === undefined ? none : `It states more than one verdict: ${[...verdicts].join(', ')}.`;
  const isPlain = stated !== null && !isApproving;
  return {
    verdict: stated,
    problem: isPlain ? null : problem,
    rejection: isSilent ? rejection : null,
    approval,
    blocking,
  };
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
function jsonIn({ node }: Block): ReturnType<typeof jsonVerdicts> | null {
  const isJson = node.type === 'code' && /^(?:json.*)?$/i.test(node.lang ?? '');
  const value = isJson ? parseJson(node.value) : null;
  return value && jsonVerdicts(value);
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
function rejectionIn(parts: Part[], isSilent: boolean): string | null {
  const sentences = parts
    .filter(({ kind }) => ![...SILENT, ...QUIET].includes(kind))
    .flatMap(({ blocks }) => blocks.filter(({ node }) => node.type === 'paragraph'))
    .map(({ lines }) => lines.map(({ said }) => said).join(' '));
  // Beside an approval, what was rejected is history.
  return sentences.find((text) => REJECTED.test(isSilent ? text : text.replace(/\bwas\b/g, ''))) ?? null;
}
