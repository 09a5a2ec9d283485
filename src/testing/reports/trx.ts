import type { TestCase } from '../port.ts';
import { parseXml, type XmlElement } from './junit.ts';
import { caseMessage, type Reading } from './report.ts';

/** The report of Visual Studio and `dotnet test`. Null where the text is none. */
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
