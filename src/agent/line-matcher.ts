import { Worker } from 'node:worker_threads';

export interface LineMatcher {
  /** Which of the lines match, counted from 0; null if it takes too long, or too much memory, to tell. */
  match(lines: string[]): Promise<number[] | null>;
  close(): Promise<void>;
}

export function createLiteralMatcher(literal: string, ignoreCase: boolean): LineMatcher {
  const fold = (text: string): string => (ignoreCase ? text.toLowerCase() : text);
  const wanted = fold(literal);
  return {
    match: (lines) => Promise.resolve(lines.flatMap((line, index) => (fold(line).includes(wanted) ? [index] : []))),
    close: () => Promise.resolve(),
  };
}

/** For the lines of one file. */
const LONGEST_MATCH_MS = 3_000;

const THREAD = `
const { parentPort, workerData } = require('node:worker_threads');
const pattern = new RegExp(workerData.source, workerData.flags);
parentPort.on('message', (lines) => {
  const hits = [];
  lines.forEach((line, index) => { if (pattern.test(line)) hits.push(index); });
  parentPort.postMessage(hits);
});
`;

/**
 * A regular expression in a thread of its own: one that backtracks for ever can't be interrupted from within, but its
 * thread can be ended. One question at a time.
 */
export function createPatternMatcher(pattern: RegExp): LineMatcher {
  const { source, flags } = pattern;
  const thread = new Worker(THREAD, {
    eval: true,
    workerData: { source, flags },
    env: {},
    resourceLimits: { maxOldGenerationSizeMb: 64 },
  });
  let answer: (hits: number[] | null) => void = () => undefined;
  thread.on('message', (hits: number[]) => answer(hits));
  thread.on('exit', () => answer(null));
  // Without a listener an error of the thread would end the process. The thread exits after it.
  thread.on('error', () => undefined);
  return {
    match: (lines) =>
      new Promise((resolve) => {
        const timer = setTimeout(() => answer(null), LONGEST_MATCH_MS);
        answer = (hits) => {
          clearTimeout(timer);
          resolve(hits);
        };
        thread.postMessage(lines);
      }),
    close: async () => {
      await thread.terminate();
    },
  };
}
