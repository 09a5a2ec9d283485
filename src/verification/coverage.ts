import type { GateEvidence } from '../core/gate.ts';
import type { FileCoverage, TestRun } from '../testing/port.ts';
import { evidenceOf } from './test-key.ts';

export interface CoverageTarget {
  percent: number;
  /** A target in the configuration must be measured. A target in an LLD is skipped if the runner can't measure it. */
  from: 'configuration' | 'LLD';
}

/** Checks the line coverage of the changed files. */
export function coverageGate(
  run: TestRun,
  changedFiles: ReadonlySet<string>,
  target: CoverageTarget | null,
): GateEvidence {
  const seen = (found: Parameters<typeof evidenceOf>[2]): GateEvidence => ({
    ...evidenceOf('coverage', null, found),
    command: run.command,
  });
  if (run.coverage === null) {
    const why = 'the test runner gave no coverage';
    if (target?.from === 'configuration') return seen({ problems: [`${target.percent} % is asked for, but ${why}`] });
    return seen({ skipped: target === null ? 'no target' : why });
  }
  const files = run.coverage.filter(({ file }) => changedFiles.has(file));
  const details = files.map((file) => `${file.file}: ${formatPercent(file)} of ${file.lines} line(s)${missed(file)}`);
  if (target === null) return seen({ skipped: 'no target', details });
  const total = files.reduce(
    (sum, { lines, covered }) => ({ lines: sum.lines + lines, covered: sum.covered + covered }),
    { lines: 0, covered: 0 },
  );
  if (total.lines === 0) return seen({ skipped: 'no changed file has lines to cover', details });
  const reached = percentOf(total) >= target.percent;
  const problem = `the changed files are covered to ${formatPercent(total)}, the ${target.from} asks for ${target.percent} %`;
  const summary = `${formatPercent(total)} of the lines of changed files, ${target.percent} % asked for`;
  return seen({ summary, details, problems: reached ? [] : [problem, ...details] });
}

function percentOf({ lines, covered }: Pick<FileCoverage, 'lines' | 'covered'>): number {
  return lines === 0 ? 100 : (covered / lines) * 100;
}

function formatPercent(coverage: Pick<FileCoverage, 'lines' | 'covered'>): string {
  return `${percentOf(coverage).toFixed(1)} %`;
}

const MOST_MISSED = 20;

function missed({ missed: lines }: FileCoverage): string {
  if (lines.length === 0) return '';
  const more = lines.length > MOST_MISSED ? ' …' : '';
  return `; not reached: ${lines.slice(0, MOST_MISSED).join(', ')}${more}`;
}
