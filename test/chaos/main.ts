/**
 * Runs that are disturbed at random, and repeatably so:
 *
 *     npm run chaos -- [--seed 1] [--runs 20]
 *
 * Run n has the seed `seed + n`. Prints a line per run and a table; exits 1 on a violation, or if not every run was made.
 */
import { parseArgs } from 'node:util';
import { canMount } from '../support/small-disk.ts';
import { type ChaosResult, chaosRuns } from './chaos-run.ts';
import { fakeTimeLibrary } from './clock.ts';
import { describe, describeFault } from './describe.ts';
import { INVARIANTS } from './invariants.ts';

const { values: flags } = parseArgs({
  options: { seed: { type: 'string', default: '1' }, runs: { type: 'string', default: '20' } },
});
const first = wholeNumber('seed', flags.seed);
const runs = wholeNumber('runs', flags.runs);
const can = { mount: canMount() };
if (!can.mount) say('Skipped: full and read-only disks, because nothing can be mounted here.');
if (fakeTimeLibrary() === null) say('Skipped: jumps of the clock, because libfaketime is not installed.');

const interrupt = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => interrupt.abort());

const results = await chaosRuns(
  Array.from({ length: runs }, (_, index) => first + index),
  { can, onResult: report, signal: interrupt.signal },
);
say(table(results));
const isClean = results.length === runs && results.every(({ violations }) => violations.length === 0);
process.exitCode = isClean ? 0 : 1;

function report({ scenario, violations, fired, resumes, durationMs, folder }: ChaosResult): void {
  const unfired = fired
    .filter(({ outcome }) => outcome !== 'fired')
    .map(({ fault, outcome, why }) => `${outcome} ${describeFault(fault)} (${why})`);
  const end = violations.length === 0 ? 'clean' : 'VIOLATED';
  say(
    `seed ${scenario.seed}: ${end} in ${(durationMs / 1_000).toFixed(1)} s, ${resumes} resumes | ${describe(scenario)}${unfired.length === 0 ? '' : ` | ${unfired.join(', ')}`}`,
  );
  for (const { invariant, facts } of violations) {
    say(`  ${invariant}:`);
    for (const fact of facts.slice(0, 5)) say(`    ${fact}`);
  }
  if (folder !== null) say(`  kept: ${folder}\n  replay: npm run chaos -- --seed ${scenario.seed} --runs 1`);
}

function table(all: readonly ChaosResult[]): string {
  const count = (invariant: string): number =>
    all.filter(({ violations }) => violations.some((one) => one.invariant === invariant)).length;
  const rows: [string, number][] = [
    ['runs', all.length],
    ['clean', all.filter(({ violations }) => violations.length === 0).length],
    ...[...Object.keys(INVARIANTS), 'the driver works'].map((invariant): [string, number] => [
      `violated: ${invariant}`,
      count(invariant),
    ]),
  ];
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, number]) => `${name.padEnd(width)}  ${String(number).padStart(5)}`).join('\n');
}

function wholeNumber(name: string, text: string): number {
  const number = Number(text);
  if (Number.isInteger(number) && number >= 0) return number;
  process.stderr.write(`--${name} takes a whole number, not ${text}\n`);
  process.exit(2);
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
