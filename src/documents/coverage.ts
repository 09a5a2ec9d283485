import { tableOf } from './tables.ts';

/** Which requirements a scenario covers. */
export interface Coverage {
  covered: number;
  total: number;
  /** Whole percent; 100 only if everything is covered, 0 only if nothing is. */
  percent: number;
  rows: CoverageRow[];
}

export interface CoverageRow {
  requirement: string;
  text: string;
  scenarios: string[];
  covered: boolean;
}

export function coverageOf(requirements: Omit<CoverageRow, 'covered'>[]): Coverage {
  const rows = requirements.map((row) => ({ ...row, covered: row.scenarios.length > 0 }));
  const covered = rows.filter((row) => row.covered).length;
  return { covered, total: rows.length, percent: wholePercent(covered, rows.length), rows };
}

function wholePercent(part: number, whole: number): number {
  if (whole === 0 || part === 0) return 0;
  if (part === whole) return 100;
  return Math.min(99, Math.max(1, Math.round((part / whole) * 100)));
}

/** The table and the calculation as a review prints them. */
export function formatCoverage({ covered, total, percent, rows }: Coverage): string {
  const table = tableOf(
    ['#', 'Requirement', 'Test(s)', 'Status'],
    rows.map((row) => [
      row.requirement,
      row.text,
      row.scenarios.join(', '),
      row.covered ? '✓ Covered' : '✗ Not covered',
    ]),
  );
  return `${table}\n\n**Coverage Calculation:** ${covered} requirements covered / ${total} total = **${percent}%**`;
}
