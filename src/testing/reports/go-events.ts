import { z } from 'zod';
import { caseMessage } from '../message.ts';
import type { TestCase } from '../port.ts';

const eventSchema = z.object({
  Action: z.string(),
  Package: z.string().optional(),
  /** Of a build, which has no package. */
  ImportPath: z.string().optional(),
  Test: z.string().optional(),
  Output: z.string().optional(),
  FailedBuild: z.string().optional(),
});

export type GoEvent = z.infer<typeof eventSchema>;

export interface GoCase {
  package: string;
  /** With its subtests: `TestAdd/two`. */
  test: string;
  outcome: TestCase['outcome'];
  message: string | null;
}

/** A package that failed other than by one of its tests. */
export interface GoFailure {
  package: string;
  message: string;
}

export interface GoReading {
  cases: GoCase[];
  failures: GoFailure[];
}

export function goEvent(line: string): GoEvent | null {
  if (!line.startsWith('{')) return null;
  try {
    return eventSchema.parse(JSON.parse(line));
  } catch {
    return null;
  }
}

/**
 * The events of `go test -json`. Up to Go 1.23 a build that fails is told of in plain text only: a line on standard output,
 * and the compiler's words on standard error. Null where the command never got as far as a package.
 */
export function parseGoEvents(stdout: string, stderr: string): GoReading | null {
  const cases = new Map<string, GoCase>();
  const output = new Map<string, string>();
  const builds = buildBlocks(stderr);
  const failures = new Map<string, GoFailure>();
  let isAnything = /no packages to test|matched no packages/.test(`${stdout}\n${stderr}`);
  for (const line of stdout.split('\n')) {
    const broken = /^FAIL\s+(\S+) \[(?:build|setup) failed\]/.exec(line)?.[1];
    if (broken !== undefined) {
      isAnything = true;
      const said = builds.get(broken) ?? [...builds.values()].join('\n');
      failures.set(broken, { package: broken, message: said || stderr });
    }
    const event = goEvent(line);
    if (event === null) continue;
    isAnything = true;
    const { Action: action, Package: name = event.ImportPath ?? '', Test: test = '', Output: text } = event;
    const key = JSON.stringify([name, test]);
    if (text !== undefined) output.set(key, (output.get(key) ?? '') + text);
    else if (test !== '') takeTest(cases, key, event, output.get(key) ?? '');
    else if (action === 'fail' && event.FailedBuild !== undefined) {
      const said = output.get(JSON.stringify([event.FailedBuild, ''])) ?? output.get(key) ?? '';
      failures.set(name, { package: name, message: said });
    } else if (action === 'fail' && !failures.has(name)) {
      const own = [...cases.values()].filter((found) => found.package === name);
      // A test that was begun and never ended took its package down.
      for (const found of own) if (found.message === UNFINISHED) found.outcome = 'failed';
      const isBroken = /\[(?:build|setup) failed\]/.test(output.get(key) ?? '');
      if (isBroken || !own.some((found) => found.outcome === 'failed'))
        failures.set(name, {
          package: name,
          message: isBroken ? (builds.get(name) ?? stderr) : (output.get(key) ?? ''),
        });
    }
  }
  return isAnything ? { cases: [...cases.values()], failures: [...failures.values()] } : null;
}

const UNFINISHED = 'it did not finish';
const OUTCOMES: Readonly<Record<string, TestCase['outcome']>> = { pass: 'passed', fail: 'failed', skip: 'skipped' };

function takeTest(cases: Map<string, GoCase>, key: string, event: GoEvent, output: string): void {
  const { Package: name = '', Test: test = '', Action: action } = event;
  const outcome = OUTCOMES[action];
  if (action === 'run') cases.set(key, { package: name, test, outcome: 'failed', message: UNFINISHED });
  else if (outcome !== undefined)
    cases.set(key, { package: name, test, outcome, message: outcome === 'failed' ? words(output) : null });
}

function words(output: string): string {
  return caseMessage(output.replace(/^\s*(?:=== (?:RUN|PAUSE|CONT|NAME)|--- (?:FAIL|PASS|SKIP):).*\n?/gm, ''));
}

/** What the compiler said, by package: `# example.com/m/a [example.com/m/a.test]`, then the errors. */
function buildBlocks(stderr: string): Map<string, string> {
  const found = new Map<string, string>();
  let current: string | null = null;
  for (const line of stderr.split('\n')) {
    const header = /^# (\S+)(?: \[(\S+)\.test\])?$/.exec(line);
    if (header !== null) {
      current = header[2] ?? header[1] ?? null;
      if (current !== null && !found.has(current)) found.set(current, '');
    } else if (current !== null) found.set(current, `${found.get(current) ?? ''}${line}\n`);
  }
  return found;
}
