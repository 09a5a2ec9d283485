import { spawnSync } from 'node:child_process';

/** Texts by path. */
export type Files = Readonly<Record<string, string>>;

/** A small project in one language, and what an implementer writes in it: value + 42, and no answer for text or less than 0. */
export interface LanguageSample {
  name: string;
  /** Commands that have to succeed here; the tests of the sample are skipped, by name, where one doesn't. */
  needs: readonly (readonly string[])[];
  /** What is committed. */
  files: Files;
  /** The files that the LLD names. */
  design: readonly (readonly [path: string, change: 'Add' | 'Modify'])[];
  /** Tests that fail, but not because the code is missing. */
  wrong: Files;
  tests: Files;
  code: Files;
  /** How the tests are run, as the report says it. */
  command: string;
  /** What the engine says of the wrong tests. */
  refusal: RegExp;
  /** Whether the runner tells the coverage, of which 90 % are asked for then. */
  isMeasured: boolean;
  /** The scenario that holds before the code. */
  guard?: string;
}

/** Whether a command is there and ends well. */
export function works([program = '', ...args]: readonly string[]): boolean {
  return spawnSync(program, args, { timeout: 30_000 }).status === 0;
}
