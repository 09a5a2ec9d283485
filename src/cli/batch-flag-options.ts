import { type Command, InvalidArgumentError } from 'commander';
import { parseDuration } from '../core/duration.ts';
import { addPlaceFlags } from './place-flag-options.ts';

/** The flags that every batch command shares, defined once. */
export function addBatchFlags(command: Command): Command {
  command
    .option('--ids <id...>', 'exactly these items (the same as naming them as arguments)')
    .option('--all', 'every pending item');
  return addResumeFlags(command);
}

/** All of them but which items: a resumed run knows its own. */
export function addResumeFlags(command: Command): Command {
  command
    .option('--parallel [n]', 'n items at once (bare: 3, or the number of cores if that is less; at most 10)')
    .option('--dry-run', 'show the plan; start nothing, write nothing, call no model')
    .option('--halt [n]', 'start nothing new after n failures (bare: 1; default: after 3 in a row with the same cause)')
    .option('--json', 'stdout is JSON only: a line per event, the summary last; lines for people go to stderr')
    .option('--timeout <duration>', 'per item, e.g. 30m (default 1h)', duration)
    .option('--global-timeout <duration>', 'for the whole run, e.g. 2h (default: none)', duration)
    .option('--idle-timeout <duration>', 'without a sign of life, e.g. 90s (default 5m)', duration)
    .option('--max-retries <n>', 'further attempts after a passing failure (default 3)', wholeNumber(0))
    .option('--max-rounds <n>', 'review rounds before a person is asked (default 3)', wholeNumber(1))
    .option('--max-cost <usd>', 'stop before the run costs more (default: no limit)', money)
    .option('--max-cost-per-item <usd>', 'stop an item before it costs more (default 20)', money)
    .option('--quiet', 'results only')
    .option('--verbose', 'every step and file')
    .option('--drafter <model>', 'who writes, as provider:model')
    .option('--reviewer <model>', 'who reviews, as provider:model')
    .option(
      '--implementer <model>',
      'who writes tests and code: provider:model, command:…, claude-code, codex or gemini-cli',
    )
    .option(
      '--offline',
      'the recorded tour of agentos demo, no model; any other issue becomes a template that waits for one',
    );
  return addPlaceFlags(command);
}

function duration(text: string): number {
  const ms = parseDuration(text);
  if (ms === null) throw new InvalidArgumentError('Write a duration such as 90s, 30m or 2h (at most 24 days).');
  return ms;
}

/** The same bounds as in agentos.yaml. */
const MOST_ROUNDS_OR_RETRIES = 20;

function wholeNumber(least: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!/^\d+$/.test(text) || value < least || value > MOST_ROUNDS_OR_RETRIES) {
      throw new InvalidArgumentError(`Write a whole number from ${least} to ${MOST_ROUNDS_OR_RETRIES}.`);
    }
    return value;
  };
}

function money(text: string): number {
  const value = Number(text.replace(/^\$/, ''));
  if (!/^\$?\d*\.?\d+$/.test(text) || !(value > 0))
    throw new InvalidArgumentError('Write an amount in USD above zero, such as 2.50.');
  return value;
}
