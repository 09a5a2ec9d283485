/** Which requirements a scenario covers. */
export interface Coverage {
  covered: number;
  total: number;
  /** Whole percent; 100 only when everything is covered, 0 only when nothing is. */
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

/** The table and the calculation in the form in which a review prints them. */
export function formatCoverage(coverage: Coverage): string {
  const rows = coverage.rows.map((row) => {
    const tests = row.scenarios.length > 0 ? row.scenarios.join(', ') : '–';
    return `| ${row.requirement} | ${tableCell(row.text)} | ${tableCell(tests)} | ${row.covered ? '✓ Covered' : '✗ Not covered'} |`;
  });
  return [
    '| # | Requirement | Test(s) | Status |',
    '|---|-------------|---------|--------|',
    ...rows,
    '',
    `**Coverage Calculation:** ${coverage.covered} requirements covered / ${coverage.total} total = **${coverage.percent}%**`,
  ].join('\n');
}

function tableCell(text: string): string {
  return text
    .replace(/\s+/g, ' ')
    .replace(/(?<!\\)\|/g, '\\|')
    .trim();
}
