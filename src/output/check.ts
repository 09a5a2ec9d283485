import { oneLine } from '../core/lines.ts';
import { type Coverage, formatCoverage } from '../documents/coverage.ts';
import type { LldFinding } from '../documents/lld/checks.ts';
import type { Review } from '../documents/review/reader.ts';
import { paint, printable, type Terminal } from './terminal.ts';

/** One file as `check --json` prints it. */
export type CheckEntry =
  | ({ file: string; kind: 'review' } & Omit<Review, 'problems'> & { problems: string[]; trustworthy: boolean })
  | { file: string; kind: 'lld'; findings: LldFinding[]; coverage: Coverage; pathsChecked: boolean }
  | { file: string; kind: 'unknown'; error: string; unreadable: boolean };

/** A checked document for people. */
export function printCheck(terminal: Terminal, entry: CheckEntry): void {
  const file = oneLine(entry.file);
  const out = (text: string): void => {
    for (const line of text.split('\n')) terminal.line(printable(line));
  };
  switch (entry.kind) {
    case 'unknown':
      terminal.line(paint(terminal, 'red', oneLine(entry.error)));
      terminal.line(
        entry.unreadable
          ? '  Name a file that exists and may be read.'
          : '  An LLD has the numbered sections of the template, a review has a verdict; both are UTF-8 Markdown.',
      );
      return;
    case 'lld': {
      const errors = entry.findings.filter((finding) => finding.severity === 'error').length;
      const summary = `${errors} error(s), ${entry.findings.length - errors} warning(s)`;
      terminal.line(`${paint(terminal, 'bold', file)}  LLD  ${paint(terminal, errors > 0 ? 'red' : 'green', summary)}`);
      for (const { rule, severity, line, message } of entry.findings) {
        const style = severity === 'error' ? 'red' : 'yellow';
        terminal.line(
          `  ${file}:${line}  ${paint(terminal, style, severity)}  ${printable(message)}  ${paint(terminal, 'dim', rule)}`,
        );
      }
      if (!entry.pathsChecked) {
        terminal.line(
          '  Paths were not looked up: no commit of a git repository around the file. Name one with --repo <dir>.',
        );
      }
      terminal.line('');
      out(formatCoverage(entry.coverage));
      return;
    }
    case 'review': {
      const style = entry.verdict === 'APPROVED' && entry.trustworthy ? 'green' : 'yellow';
      terminal.line(
        `${paint(terminal, 'bold', file)}  review  ${paint(terminal, style, entry.verdict ?? 'no verdict')}`,
      );
      for (const problem of entry.problems)
        terminal.line(`  ${paint(terminal, 'red', 'problem')}  ${printable(problem)}`);
      for (const { tier, area, text } of entry.findings) {
        terminal.line(`  Tier ${tier}${area ? ` ${area}` : ''}: ${printable(text.replace(/\s+/g, ' '))}`);
      }
      for (const { question, answer } of entry.openQuestions)
        terminal.line(`  Resolved: ${printable(question)} → ${printable(answer)}`);
      for (const question of entry.questionsForOrchestrator) terminal.line(`  Question: ${printable(question)}`);
      if (entry.coverage)
        terminal.line(`  Coverage: ${entry.coverage.covered}/${entry.coverage.total} = ${entry.coverage.percent} %`);
    }
  }
}
