import type { Best, DesignRow, Evaluation, ReviewRow } from '../core/evaluation.ts';
import { paint, printable, type Terminal } from './terminal.ts';

/** Prints an evaluation: the recorded results, a row for each candidate, and the best one. */
export function printEvaluation(terminal: Terminal, { reviews, designs }: Evaluation): void {
  if (reviews === null && designs === null) terminal.line('No case was finished: there is nothing to compare.');
  if (reviews !== null) {
    const title = `Reviews of ${counted(reviews.cases, 'past draft')}, against what came of each`;
    printTable(terminal, title, [reviews.recorded, ...reviews.candidates].map(reviewCells));
    terminal.line(bestLine(reviews.best, { what: 'reviewer', hit: 'was right about', of: 'draft' }));
  }
  if (designs !== null) {
    const title = `Designs for ${counted(designs.cases, 'past item')}`;
    printTable(terminal, title, [designs.recorded, ...designs.candidates].map(designCells));
    terminal.line(bestLine(designs.best, { what: 'drafter and reviewer', hit: 'came to an approval for', of: 'item' }));
  }
}

function reviewCells(row: ReviewRow): Record<string, string> {
  return {
    right: share(row.agreed, row.cases),
    missed: String(row.missed),
    DISCUSS: share(row.discuss, row.cases),
    'findings confirmed': share(row.confirmed, row.findings),
    cost: usd(row.costUsd),
    reviewer: row.candidate,
  };
}

function designCells(row: DesignRow): Record<string, string> {
  return {
    DISCUSS: share(row.discuss, row.cases),
    rounds: row.rounds.toFixed(1),
    repairs: row.repairs?.toFixed(1) ?? '–',
    files: row.files === null ? '–' : percent(row.files),
    cost: usd(row.costUsd),
    'drafter + reviewer': row.candidate,
  };
}

function printTable(terminal: Terminal, title: string, cells: readonly Record<string, string>[]): void {
  const columns = Object.keys(cells[0] ?? {});
  const rows = cells.map((row) => Object.values(row));
  const widths = columns.map((column, at) => Math.max(column.length, ...rows.map((row) => row[at]?.length ?? 0)));
  const lineOf = (words: readonly string[]): string =>
    words.map((cell, at) => (at === words.length - 1 ? cell : cell.padEnd(widths[at] ?? 0))).join('  ');
  terminal.line('');
  terminal.line(paint(terminal, 'bold', title));
  terminal.line(paint(terminal, 'dim', lineOf(columns)));
  for (const row of rows) terminal.line(printable(lineOf(row)));
}

interface BestWords {
  what: string;
  hit: string;
  of: string;
}

/** Below this probability, a difference is called more than chance. */
const CHANCE = 0.05;

function bestLine(best: Best | null, { what, hit, of }: BestWords): string {
  if (best === null) return 'Best: not known, no case was finished by every candidate.';
  const { candidate, cases, hits, between, runnerUp } = best;
  const [least, most] = between.map(percent);
  const sure = `${hit} ${hits} of ${counted(cases, of)} (95 % interval: ${least} to ${most})`;
  if (runnerUp === null) return printable(`The only ${what}, ${candidate}, ${sure}.`);
  const isSure = runnerUp.chance < CHANCE;
  const words = isSure ? 'more than chance' : `with ${counted(cases, of)} that may be chance`;
  const next = `next ${runnerUp.candidate} with ${runnerUp.hits}: ${words} (p = ${runnerUp.chance.toFixed(2)})`;
  return printable(`Best ${what}: ${candidate} ${sure}; ${next}.`);
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}

function share(part: number, whole: number): string {
  return whole === 0 ? '–' : `${part}/${whole} ${percent(part / whole)}`;
}

function percent(value: number): string {
  return `${Math.round(value * 100)} %`;
}

function usd(value: number | null): string {
  return value === null ? '–' : `$${value.toFixed(4)}`;
}
