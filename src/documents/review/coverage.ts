import type { Table } from 'mdast';
import { plainText } from '../markdown.ts';
import { linesOf } from './lines.ts';
import type { Part } from './outline.ts';
import type { Coverage } from './review.ts';

const COUNTS = [
  /(\d+)\s*(?:requirements?\s*)?(?:are\s+|fully\s+)*covered\s*(?:\/|of|out of)\s*(\d+)/i,
  /covered\s*[:=]?\s*(\d+)\s*(?:\/|of|out of)\s*(\d+)/i,
  /coverage\b[^\d]{0,40}(\d+)\s*(?:\/|of|out of)\s*(\d+)/i,
  /(\d+)\s*(?:\/|of|out of)\s*(\d+)\s*(?:requirements?|total|covered|=)/i,
  /coverage\b.*\((\d+)\s*\/\s*(\d+)\)/i,
];
const PERCENT = /(\d+(?:[.,]\d+)?)\s*%/;
const UNCOVERED = /[✗✘❌✖⚠]|\b(?:missing|not covered|uncovered|gaps?|none|partial(?:ly)?|no|untested|fail(?:ed)?)\b/i;
const COVERED = /[✓✔✅☑]|\b(?:covered|yes|pass(?:ed)?|ok|full(?:y)?|complete)\b/i;

export function percentOf(covered: number, total: number): number {
  return Math.round((covered / total) * 1000) / 10;
}

/** Requirement coverage: the calculation as it is printed, else counted from the table. */
export function coverageOf(parts: Part[]): { coverage: Coverage | null; contradictsTable: boolean } {
  const own = parts.filter((part) => part.kind === 'coverage');
  // A review that lost this heading still has the table and the calculation, wherever they stand.
  const nodes = (
    own.length > 0 ? own : parts.filter((part) => part.kind !== 'tier' && part.kind !== 'previous')
  ).flatMap((part) => part.blocks);
  const counted = nodes
    .flatMap((node) => (node.type === 'table' ? [countRows(node)] : []))
    .find((count) => count !== null);
  const printed = nodes
    .filter((node) => node.type !== 'table')
    .flatMap((node) => linesOf(node))
    .map((line) => calculation(line.text))
    .find((found) => found !== null);
  const contradictsTable = Boolean(
    printed && counted && (printed.covered !== counted.covered || printed.total !== counted.total),
  );
  return { coverage: printed ?? counted ?? null, contradictsTable };
}

function calculation(line: string): Coverage | null {
  for (const pattern of COUNTS) {
    const match = pattern.exec(line);
    const covered = Number(match?.[1]);
    const total = Number(match?.[2]);
    if (!match || !(total > 0) || covered > total) continue;
    const stated = PERCENT.exec(line.slice(match.index + match[0].length)) ?? PERCENT.exec(line);
    return {
      covered,
      total,
      percent: stated ? Number((stated[1] ?? '').replace(',', '.')) : percentOf(covered, total),
    };
  }
  return null;
}

function countRows(table: Table): Coverage | null {
  const [header, ...rows] = table.children.map((row) => row.children.map((cell) => plainText(cell)));
  if (!header?.some((title) => /require|^req|^#$|^id$/i.test(title))) return null;
  const status = header.findLastIndex((title) => /status|cover|result/i.test(title));
  if (status < 0 || rows.length === 0) return null;
  const covered = rows.filter((cells) => {
    const cell = cells[status] ?? '';
    return COVERED.test(cell) && !UNCOVERED.test(cell);
  }).length;
  return { covered, total: rows.length, percent: percentOf(covered, rows.length) };
}
