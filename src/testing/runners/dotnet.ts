import type { LoadFailure, TestCase } from '../port.ts';
import { hasFile } from '../project.ts';
import { parseXml, type XmlElement } from '../reports/junit.ts';
import { caseMessage, type Reading, textsIn, together, withUnexplained } from '../reports/report.ts';
import type { Changes, Runner } from '../runner.ts';
import { optionsMatching } from '../script.ts';
import { isTestOf } from '../test-files.ts';
import { compileFailures, isEachNamed, withFilesOfClasses } from './compiled.ts';

export const dotnet: Runner = {
  name: 'dotnet',
  isMissingCode: isDotnetMissing,
  sign: (project) => (hasFile(project, /\.(slnx?|[cf]sproj|vbproj)$/) ? 'named' : null),
  usualCommand: async () => 'dotnet test',
  headAt: (names, at) => (names[at] === 'dotnet' && names[at + 1] === 'test' ? at + 1 : null),

  select(call, files) {
    const isFiltered = optionsMatching(call, /^--filter(=|$)/).length > 0;
    if (isFiltered || files.length === 0 || !files.every((file) => isTestOf('dotnet', file))) return null;
    const classes = files.map((file) => /([^/]+)\.\w+$/.exec(file)?.[1] ?? '');
    return { last: ['--filter', classes.map((name) => `FullyQualifiedName~.${name}.`).join('|')] };
  },

  change: (call, _, { folder }) => ({
    remove: optionsMatching(call, /^--nologo$/, /^(-r|--results-directory)(=|$)/),
    last: ['--logger', 'trx', '--results-directory', folder],
  }),
  environment: async () => ({
    env: { DOTNET_CLI_TELEMETRY_OPTOUT: '1', DOTNET_NOLOGO: '1', DOTNET_CLI_UI_LANGUAGE: 'en' },
  }),

  async read({ worktree, folder, pathInWorktree }, output) {
    const readings = (await textsIn(folder, /\.trx$/)).map(parseTrx).filter((reading) => reading !== null);
    const broken = output.exitCode === 0 ? [] : compileFailures(output, ERROR, pathInWorktree);
    if (readings.length === 0 && broken.length === 0 && output.exitCode !== 0) return null;
    const cases = await withFilesOfClasses(together(readings).cases, worktree, 'cs,fs,vb');
    return withUnexplained({ cases, loadFailures: broken }, output);
  },
};

const ERROR = /^\s*(?<path>\S[^(]*\.(?:cs|fs|vb))\(\d+,\d+\): error /;
/** Compiler errors for an unknown type, name, member or namespace; FS0039 is F#'s for any of them. */
const NOT_FOUND = /\b(?:CS0246|CS0103|CS0117|CS0234|CS1061|CS0400|CS0426|FS0039)\b/;

function isDotnetMissing({ file, message }: LoadFailure, changes: Changes): boolean | null {
  if (!/\.(cs|fs|vb)$/.test(file ?? '')) return null;
  const errors = message.split('\n').flatMap((line) => {
    const found = ERROR.exec(line);
    return found === null ? [] : [line.slice(found[0].length).replace(/\s*\[[^\]]*\]$/, '')];
  });
  return isEachNamed(errors, NOT_FOUND, changes);
}

/** Reads TRX, the report of Visual Studio and `dotnet test`; null for other text. */
export function parseTrx(xml: string): Reading | null {
  const root = parseXml(xml);
  if (root?.name !== 'TestRun') return null;
  const classes = new Map<string, string>();
  for (const test of inside(root, 'TestDefinitions', 'UnitTest')) {
    const method = test.children.find(({ name }) => name === 'TestMethod');
    classes.set(test.attributes.id ?? '', method?.attributes.className?.split(',')[0] ?? '');
  }
  const cases = inside(root, 'Results', 'UnitTestResult').map(({ attributes, children }): TestCase => {
    const { testName = '', testId = '', outcome = '' } = attributes;
    const owner = classes.get(testId) ?? '';
    const name = owner !== '' && testName.startsWith(`${owner}.`) ? testName.slice(owner.length + 1) : testName;
    const result = OUTCOMES[outcome] ?? 'skipped';
    return {
      file: null,
      name: [owner, name].filter((part) => part !== '').join(' > '),
      outcome: result,
      message: result === 'failed' ? caseMessage(textOf(children, ['Message', 'StackTrace'])) : null,
    };
  });
  return { cases, loadFailures: [] };
}

const OUTCOMES: Readonly<Record<string, 'passed' | 'failed'>> = {
  Passed: 'passed',
  Failed: 'failed',
  Error: 'failed',
  Timeout: 'failed',
  Aborted: 'failed',
};

function inside(root: XmlElement, list: string, name: string): XmlElement[] {
  return root.children
    .filter((child) => child.name === list)
    .flatMap(({ children }) => children.filter((child) => child.name === name));
}

function textOf(elements: readonly XmlElement[], names: readonly string[]): string {
  const all = (found: readonly XmlElement[]): XmlElement[] => found.flatMap((one) => [one, ...all(one.children)]);
  return all(elements)
    .filter(({ name }) => names.includes(name))
    .map(({ text }) => text)
    .join('\n');
}
