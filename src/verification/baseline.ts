import type { TestRun } from '../testing/port.ts';
import { testKey } from './test-key.ts';

/** The tests as they were before anything was written: what is new, and what must not break, is told by it. */
export interface Baseline {
  command: string;
  passed: string[];
  /** Failed or skipped: nobody is held to them. */
  others: string[];
  /** Test files or packages that could not be loaded even then. */
  notLoaded: string[];
}

export function baselineOf({ command, cases, loadFailures }: TestRun): Baseline {
  const passed = new Set(cases.filter((test) => test.outcome === 'passed').map(testKey));
  const others = new Set(cases.filter((test) => test.outcome !== 'passed').map(testKey));
  for (const key of others) passed.delete(key);
  return {
    command,
    passed: [...passed],
    others: [...others],
    notLoaded: [...new Set(loadFailures.map(({ file }) => file ?? ''))],
  };
}
