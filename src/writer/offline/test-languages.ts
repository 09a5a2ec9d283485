/** A scenario as a test that is still to be written. All texts are one line. */
export interface ScaffoldedTest {
  id: string;
  scenario: string;
  details: string[];
}

const HEADER = [
  'A scaffold that rules made from the scenarios of the design, without a model.',
  'Each test fails until somebody writes it.',
];

/** `prelude` is the line that brings `test` into the file, or empty. */
export function javascriptTests(tests: readonly ScaffoldedTest[], prelude: string): string {
  return fileOf(
    [...commented('//', HEADER), ...(prelude === '' ? [] : ['', prelude])],
    tests.map((test) => [
      `test(${literal(`${test.id} ${test.scenario}`)}, () => {`,
      ...commented('  //', test.details),
      `  throw new Error(${literal(notWritten(test))});`,
      '});',
    ]),
  );
}

export function pythonTests(tests: readonly ScaffoldedTest[]): string {
  return fileOf(
    [...commented('#', HEADER), '', 'import pytest', ''],
    tests.map((test, index) => [
      ...(index === 0 ? [] : ['']),
      `def ${identifier('test', test)}():`,
      ...commented('    #', test.details),
      `    pytest.fail(${literal(notWritten(test))})`,
    ]),
  );
}

export function goTests(tests: readonly ScaffoldedTest[], packageName: string): string {
  return fileOf(
    [...commented('//', HEADER), '', `package ${packageName}`, '', 'import "testing"'],
    tests.map((test) => [
      `func ${identifier('Test', test)}(t *testing.T) {`,
      ...commented('\t//', test.details),
      // As an argument: a directive such as %s in the text would be held against the test before it runs.
      `\tt.Fatalf("%s", ${literal(notWritten(test))})`,
      '}',
    ]),
  );
}

function fileOf(head: string[], tests: string[][]): string {
  return `${[head, ...tests].map((lines) => lines.join('\n')).join('\n\n')}\n`;
}

function commented(mark: string, lines: readonly string[]): string[] {
  return lines.map((line) => `${mark} ${line}`);
}

function notWritten({ id, scenario }: ScaffoldedTest): string {
  return `not written yet: ${id} ${scenario}`;
}

/** What JSON escapes is escaped in the same way in all three languages. */
function literal(text: string): string {
  return JSON.stringify(text);
}

function identifier(prefix: string, { id, scenario }: ScaffoldedTest): string {
  const words = scenario
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '_')
    .slice(0, 60);
  return [prefix, id.replace(/\W+/g, '_'), words].join('_').replace(/_+/g, '_').replace(/_$/, '');
}
