import { eachTerm } from './terms.ts';

/** Inclusive, counted from 1. */
export type LineRange = [from: number, to: number];

export interface ReadFile {
  path: string;
  lines: string[];
  /** The value of the terms in each line. */
  hits: Float64Array;
  blocks: Block[];
}

/** Lines that are shown together. */
export interface Block {
  from: number;
  to: number;
  /** The expected share of the file's changes. */
  share: number;
}

const SETTINGS = {
  least: 8,
  most: 14,
  near: 0.2,
  scope: 0.3,
  floor: 0.05,
  power: 2,
  head: 0.35,
  tail: 0.5,
};

/** Longer lines are data or minified code. */
const LONGEST_LINE = 240;
const NEWLINE = 0x0a;

export function readLines(
  path: string,
  bytes: Buffer,
  values: ReadonlyMap<number, number>,
  kind: { isTest: boolean; isChangelog: boolean },
): ReadFile {
  const lines = bytes
    .toString('utf8')
    .replace(/\n$/, '')
    .split('\n')
    .map((line) => (line.length > LONGEST_LINE ? `${line.slice(0, LONGEST_LINE)}…` : line.replace(/\r$/, '')));
  const found: (Set<number> | undefined)[] = [];
  let at = 0;
  let end = bytes.indexOf(NEWLINE);
  eachTerm(bytes, 0, bytes.length, (term, start) => {
    if (!values.has(term)) return;
    for (; end >= 0 && end < start; at++) end = bytes.indexOf(NEWLINE, end + 1);
    found[at] ??= new Set();
    found[at]?.add(term);
  });
  const hits = new Float64Array(lines.length);
  found.forEach((terms, line) => {
    for (const term of terms ?? []) hits[line] = (hits[line] ?? 0) + (values.get(term) ?? 0);
  });
  const cuts = cutsOf(lines);
  const raw = cuts.map(({ from, to }) => {
    const counts = new Map<number, number>();
    for (let at = from; at <= to; at++)
      for (const term of found[at] ?? []) counts.set(term, (counts.get(term) ?? 0) + 1);
    let sum = 0;
    for (const [term, count] of counts) sum += (values.get(term) ?? 0) * (count / (count + 1));
    return sum + SETTINGS.scope * scopeHits(lines, hits, from);
  });
  const near = raw.map((value, at) => value + (SETTINGS.near * ((raw[at - 1] ?? 0) + (raw[at + 1] ?? 0))) / 2);
  const most = Math.max(...near, 1e-9);
  const weights = near.map((value, at) => {
    let weight = (value / most) ** SETTINGS.power + SETTINGS.floor;
    if (at === 0) weight += kind.isChangelog ? 5 : SETTINGS.head;
    if (at === near.length - 1 && kind.isTest) weight += SETTINGS.tail;
    return weight;
  });
  const sum = weights.reduce((total, weight) => total + weight, 0);
  const blocks = cuts.map(({ from, to }, at) => ({ from: from + 1, to: to + 1, share: (weights[at] ?? 0) / sum }));
  return { path, lines, hits, blocks };
}

/** Blocks of a readable size that start after a blank line or at an unindented one. */
function cutsOf(lines: readonly string[]): { from: number; to: number }[] {
  const { least, most } = SETTINGS;
  const cuts: { from: number; to: number }[] = [];
  let from = 0;
  for (let at = 0; at < lines.length; at++) {
    const length = at - from;
    const isGood = length >= least && (lines[at - 1]?.trim() === '' || /^[^\s})\]]/.test(lines[at] ?? ''));
    if (!isGood && length < most) continue;
    cuts.push({ from, to: at - 1 });
    from = at;
  }
  const rest = lines.length - from;
  const last = cuts.at(-1);
  if (last !== undefined && rest < least / 2) last.to = lines.length - 1;
  else cuts.push({ from, to: lines.length - 1 });
  return cuts;
}

const MOST_SCOPES = 3;

/** The value of the terms in the headers around a line: its function, its class. */
function scopeHits(lines: readonly string[], hits: Float64Array, from: number): number {
  let indent = indentOf(lines, from);
  let sum = 0;
  let scopes = 0;
  for (let at = from - 1; at >= 0 && indent > 0 && scopes < MOST_SCOPES; at--) {
    const own = indentOf(lines, at);
    if (own >= indent) continue;
    indent = own;
    sum += hits[at] ?? 0;
    scopes += 1;
  }
  return sum;
}

function indentOf(lines: readonly string[], at: number): number {
  const line = lines[at] ?? '';
  const text = line.trimStart();
  // A blank line belongs to what is around it.
  return text === '' ? Number.POSITIVE_INFINITY : line.length - text.length;
}

const DECLARATION =
  /^\s{0,8}(export|pub|public|private|protected|internal|static|async|abstract|final|def|class|func|fn|function|interface|type|struct|enum|trait|impl|mod|module|object|record|const|describe|it|test|context|macro_rules!|@\w+|#+ )\b|^#{1,4} |^\s{0,4}(static |inline |const |unsigned )*[A-Za-z_][\w:<>,*& ]* \*?[\w:~]+\([^;]*$|^"?[\w.-]+"?\s*[:=]|^\[[\w.-]+\]/;

/** The declarations of a file that match the issue best. */
export function outlineOf({ lines, hits }: ReadFile, most: number): number[] {
  const declared = lines.flatMap((line, at) => (DECLARATION.test(line) ? [at] : []));
  const some = declared.length > 0 ? declared : lines.flatMap((line, at) => (line.trim() === '' ? [] : [at]));
  return some
    .map((at, order) => ({ at, value: (hits[at] ?? 0) - order * 1e-6 }))
    .sort((a, b) => b.value - a.value)
    .slice(0, most)
    .map(({ at }) => at + 1)
    .sort((a, b) => a - b);
}

/** Adjacent blocks become one range. */
export function rangesOf(blocks: readonly { from: number; to: number }[]): LineRange[] {
  const ranges: LineRange[] = [];
  for (const { from, to } of [...blocks].sort((a, b) => a.from - b.from)) {
    const last = ranges.at(-1);
    if (last !== undefined && from <= last[1] + 1) last[1] = Math.max(last[1], to);
    else ranges.push([from, to]);
  }
  return ranges;
}
