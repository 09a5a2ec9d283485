import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { RunnerName } from '../port.ts';
import { createPathInWorktree } from '../reports/report.ts';
import type { RunOutput } from '../runner.ts';
import { isMissingCode, runnerNamed, testScript } from '../runners.ts';

/*
 * What real runners wrote for a file that passes, fails and skips a test, and for a new one whose subject is not there yet.
 * Those of Maven, Gradle and dotnet are written after their formats.
 * `<root>` stands for the worktree.
 */

let root = '';
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'agentos-runner-'));
});
afterEach(() => rm(root, { recursive: true }));

interface Case {
  runner: RunnerName;
  /** Which version wrote it. */
  by: string;
  command: string;
  output: Partial<RunOutput>;
  /** Reports that it wrote into the folder of the run, or at the place that it writes to. */
  reports?: Record<string, string>;
  files?: string[];
  texts?: Record<string, string>;
  added?: string;
  expected: string[];
}

const REQUIRE = (from: string): string => `Error: Cannot find module '../src/mul.js'
Require stack:
- <root>/${from}
    at Module._resolveFilename (node:internal/modules/cjs/loader:1207:15)
    at Object.<anonymous> (<root>/${from}:1:51) {
  code: 'MODULE_NOT_FOUND',
  requireStack: [ '<root>/${from}' ]
}
`;
const LINES = `{"file":"<root>/test/add.js","names":["add","010 adds"],"outcome":"passed","message":null}
{"file":"<root>/test/add.js","names":["add","fails"],"outcome":"failed","message":"AssertionError: 3 == 4"}
{"file":"<root>/test/add.js","names":["add","later"],"outcome":"skipped"}
{"end":true}
`;
const READ = [
  'passed test/add.js: add > 010 adds',
  'failed test/add.js: add > fails',
  'skipped test/add.js: add > later',
];

const CASES: readonly Case[] = [
  {
    runner: 'mocha',
    by: 'mocha 11',
    command: 'mocha',
    output: {},
    reports: { 'reporter-0.lines': LINES },
    expected: READ,
  },
  {
    runner: 'mocha',
    by: 'mocha 11, a file that cannot load: no report at all',
    command: 'mocha',
    output: {
      stderr: `npm warn Unknown user config "x". This will stop working.\n\n Exception during run: ${REQUIRE('test/mul.js')}`,
    },
    expected: ['missing test/mul.js'],
  },
  {
    runner: 'mocha',
    by: 'a report that was cut off',
    command: 'mocha',
    output: {},
    reports: { 'reporter-0.lines': LINES.replace('{"end":true}\n', '') },
    expected: ['no report'],
  },
  {
    runner: 'uvu',
    by: 'uvu 0.5, a file that cannot load',
    command: 'uvu test',
    output: { stderr: REQUIRE('test/mul.js') },
    expected: ['missing test/mul.js'],
  },
  {
    runner: 'ava',
    by: 'ava 6, one file: without its name',
    command: 'ava --tap test/add.js',
    files: ['test/add.js', 'test/mul.js'],
    output: {
      stdout:
        'TAP version 13\nok 1 - later # SKIP\nok 2 - 010 adds\nnot ok 3 - fails\n  ---\n    name: AssertionError\n  ...\n\n1..3\n',
    },
    expected: ['skipped test/add.js: later', 'passed test/add.js: 010 adds', 'failed test/add.js: fails'],
  },
  {
    runner: 'ava',
    by: 'ava 6, one file of two that may be tests: the name tells which',
    command: 'ava',
    files: ['index.test-d.ts', 'test/other.js'],
    texts: { 'test.js': "test('010 adds', …)" },
    output: { stdout: 'TAP version 13\nok 1 - 010 adds\n\n1..1\n', exitCode: 0 },
    expected: ['passed test.js: 010 adds'],
  },
  {
    runner: 'ava',
    by: 'ava 6, several files, one of which cannot load',
    command: 'ava',
    files: ['test/add.js', 'test/mul.js', 'test/deep/more.js'],
    output: {
      stdout: `TAP version 13
ok 1 - add › later # SKIP
ok 2 - deep › more › 010 adds
not ok 3 - Error: Cannot find module '../src/mul.js'
  ---
    name: Error
    message: |-
      Cannot find module '../src/mul.js'
      Require stack:
      - <root>/test/mul.js
      - <root>/node_modules/ava/lib/worker/base.js
    at: 'Require stack:'
  ...
not ok 4 - test/mul.js exited with a non-zero exit code: 1

1..2
# fail 2
`,
    },
    expected: ['skipped test/add.js: later', 'passed test/deep/more.js: 010 adds', 'missing test/mul.js'],
  },
  {
    runner: 'tap',
    by: 'tap 16 and 21: the time is no part of a name, and the reason is on standard error',
    command: 'tap',
    files: ['test/add.js', 'test/mul.js'],
    output: {
      stdout: `TAP version 14
1..2
# Subtest: test/add.js
    # Subtest: 010 adds
        ok 1 - should be equal
        1..1
    ok 1 - 010 adds # time=3.256ms
    
    ok 2 - later # SKIP
    1..2
    # time=77.748ms
ok 1 - test/add.js # time=77.748ms
# Subtest: test/mul.js
    1..0 # no tests found
not ok 2 - test/mul.js # time=2079.146ms
  ---
  stdio: inherit
  exitCode: 1
  ...

# { total: 3, pass: 1, fail: 1, skip: 1 }
`,
      stderr: REQUIRE('test/mul.js'),
    },
    expected: ['passed test/add.js: 010 adds > should be equal', 'skipped test/add.js: later', 'missing test/mul.js'],
  },
  {
    runner: 'qunit',
    by: 'qunit 3.0',
    command: 'qunit',
    output: {
      stdout: `TAP version 13
not ok 1 global failure
  ---
  message: |+
    Error: Failed to load file test/mul.js
    Error: Cannot find module '../src/mul.js'
    Require stack:
    - <root>/test/mul.js
    - <root>/node_modules/qunit/src/cli/run.js
  severity: failed
  ...
Bail out! Error: Failed to load file test/mul.js
ok 2 add > 010 adds
ok 3 add > later # SKIP
1..3
`,
    },
    expected: ['passed null: add > 010 adds', 'skipped null: add > later', 'missing test/mul.js'],
  },
  {
    runner: 'qunit',
    by: 'qunit 2.25, the only file cannot load',
    command: 'qunit test/mul.js',
    output: {
      stdout: `TAP version 13
not ok 1 global failure
  ---
  message: |+
    Error: Failed to load file test/mul.js
    Error: Cannot find module '../src/mul.js'
    Require stack:
    - <root>/test/mul.js
  ...
Bail out! Error: Failed to load file test/mul.js
not ok 2 global failure
  ---
  message: No tests were run.
  severity: failed
  ...
1..2
`,
    },
    expected: ['missing test/mul.js'],
  },
  {
    runner: 'qunit',
    by: 'qunit 2.10: a file that cannot load is a test, with the error below its name',
    command: 'qunit test/',
    output: {
      stdout: `TAP version 13
not ok 1 test/mul.js > Failed to load the test file with error:
Error: Cannot find module '../src/mul.js'
Require stack:
- <root>/test/mul.js
- <root>/node_modules/qunit/src/cli/run.js
    at Module._resolveFilename (node:internal/modules/cjs/loader:1207:15)
  ---
  message: "should be able to load file"
  severity: failed
  actual: false
  expected: true
  stack:     at Object.<anonymous> (<root>/node_modules/qunit/src/cli/run.js:62:13)
  ...
ok 2 add > 010 adds
1..2
`,
    },
    expected: ['passed null: add > 010 adds', 'missing test/mul.js'],
  },
  {
    runner: 'bun',
    by: 'bun 1.4: the file is left out of the report',
    command: 'bun test',
    files: ['test/add.test.js', 'test/mul.test.js'],
    output: {
      stderr: `test/mul.test.js:

# Unhandled error between tests
-------------------------------
error: Cannot find module '../src/mul.js' from '<root>/test/mul.test.js'
-------------------------------
`,
    },
    reports: {
      'report-0.xml': `<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="bun test" tests="2">
  <testsuite name="test/add.test.js" file="test/add.test.js" tests="2">
    <testsuite name="add" file="test/add.test.js" line="2" tests="2">
      <testcase name="010 adds" classname="add" time="0.000127" file="test/add.test.js" line="2" assertions="1" />
      <testcase name="010 adds" classname="add" time="0.000127" file="test/add.test.js" line="3" assertions="1" />
    </testsuite>
  </testsuite>
</testsuites>`,
    },
    expected: [
      'passed test/add.test.js: add > 010 adds',
      'passed test/add.test.js: add > 010 adds',
      'missing test/mul.test.js',
    ],
  },
  {
    runner: 'rspec',
    by: 'rspec 3.12: no example ran',
    command: 'rspec',
    output: {},
    added: 'lib/mul.rb',
    reports: {
      'report.lines': `{"file":"./spec/mul_spec.rb","broken":"An error occurred while loading ./spec/mul_spec.rb.\\nFailure/Error: require_relative '../lib/mul'\\n\\nLoadError:\\n  cannot load such file -- <root>/lib/mul\\n# ./spec/mul_spec.rb:1:in 'require_relative'"}\n{"end":true}\n`,
    },
    expected: ['missing spec/mul_spec.rb'],
  },
  {
    runner: 'minitest',
    by: 'minitest 5: no report',
    command: 'rake test',
    added: 'lib/mul.rb',
    output: {
      stderr:
        "<root>/test/mul_test.rb:2:in `require_relative': cannot load such file -- <root>/lib/mul (LoadError)\n\tfrom <root>/test/mul_test.rb:2:in `<top (required)>'\nrake aborted!\n",
    },
    expected: ['missing test/mul_test.rb'],
  },
  {
    runner: 'unittest',
    by: 'Python 3.11',
    command: 'python -m unittest',
    added: 'calc/mul.py',
    output: {},
    reports: {
      'unittest-0.lines': `{"file": "<root>/tests/test_mul.py", "broken": "Traceback (most recent call last):\\n  File \\"<root>/tests/test_mul.py\\", line 2, in <module>\\n    from calc.mul import mul\\nModuleNotFoundError: No module named 'calc.mul'\\n"}\n{"end": true}\n`,
    },
    expected: ['missing tests/test_mul.py'],
  },
  {
    runner: 'phpunit',
    by: 'PHPUnit 9.6: suites around a class are no part of a name',
    command: 'phpunit',
    files: ['tests/AddTest.php'],
    output: {},
    reports: {
      'report-0.xml': `<?xml version="1.0" encoding="UTF-8"?>
<testsuites>
  <testsuite name="all" tests="2" assertions="2" errors="0" failures="1" skipped="0">
    <testsuite name="AddTest" file="<root>/tests/AddTest.php" tests="2">
      <testcase name="test010Adds" class="AddTest" classname="AddTest" file="<root>/tests/AddTest.php" line="5" assertions="1" time="0.002"/>
      <testcase name="testFails" class="AddTest" classname="AddTest" file="<root>/tests/AddTest.php" line="6" assertions="1" time="0.002">
        <failure type="PHPUnit\\Framework\\ExpectationFailedException">AddTest::testFails
Failed asserting that 3 is identical to 4.</failure>
      </testcase>
    </testsuite>
  </testsuite>
</testsuites>`,
    },
    expected: ['passed tests/AddTest.php: AddTest > test010Adds', 'failed tests/AddTest.php: AddTest > testFails'],
  },
  {
    runner: 'phpunit',
    by: 'PHPUnit 9.6, a file that cannot load',
    command: 'phpunit',
    added: 'src/mul.php',
    output: {
      stderr:
        "PHP Fatal error:  Uncaught Error: Failed opening required '<root>/tests/../src/mul.php' (include_path='.') in <root>/tests/MulTest.php:2\n",
    },
    expected: ['missing tests/MulTest.php'],
  },
  {
    runner: 'maven',
    by: 'in the form of surefire 3',
    command: 'mvn test',
    files: ['src/test/java/calc/AddTest.java'],
    output: { exitCode: 0 },
    reports: {
      'target/surefire-reports/TEST-calc.AddTest.xml': `<?xml version="1.0" encoding="UTF-8"?>
<testsuite xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" version="3.0" name="calc.AddTest" time="0.05" tests="1" errors="0" skipped="0" failures="0">
  <testcase name="adds010" classname="calc.AddTest" time="0.01"/>
</testsuite>`,
    },
    expected: ['passed src/test/java/calc/AddTest.java: calc.AddTest > adds010'],
  },
  {
    runner: 'maven',
    by: 'a module that could not be tested beside one that was',
    command: 'mvn test',
    output: {
      stdout: '[ERROR] Failed to execute goal maven-surefire-plugin:test on project core: The forked VM terminated\n',
    },
    reports: {
      'app/target/surefire-reports/TEST-calc.AppTest.xml':
        '<testsuite name="calc.AppTest"><testcase name="starts" classname="calc.AppTest"/></testsuite>',
    },
    expected: ['passed null: calc.AppTest > starts', 'broken null'],
  },
  {
    runner: 'maven',
    by: 'javac through Maven',
    command: 'mvn test',
    added: 'src/main/java/calc/Mul.java',
    output: {
      stdout: `[INFO] -------------------------------------------------------------
[ERROR] COMPILATION ERROR :
[INFO] -------------------------------------------------------------
[ERROR] <root>/src/test/java/calc/MulTest.java:[1,143] cannot find symbol
  symbol:   variable Mul
  location: class calc.MulTest
[INFO] 1 error
`,
    },
    expected: ['missing src/test/java/calc/MulTest.java'],
  },
  {
    runner: 'maven',
    by: 'javac, a misspelt name: only where it was looked for is called like what is added',
    command: 'mvn test',
    added: 'src/main/java/calc/Mul.java',
    output: {
      stdout: `[ERROR] <root>/src/test/java/calc/MulTest.java:[1,12] cannot find symbol
  symbol:   class Mull
  location: package calc
`,
    },
    expected: ['broken src/test/java/calc/MulTest.java'],
  },
  {
    runner: 'gradle',
    by: 'javac through Gradle, with another error beside it',
    command: 'gradle test',
    added: 'src/main/java/calc/Mul.java',
    output: {
      stderr: `<root>/src/test/java/calc/MulTest.java:3: error: package calc.mul does not exist
import calc.mul.Mul;
               ^
<root>/src/test/java/calc/MulTest.java:5: error: ';' expected
2 errors
`,
    },
    expected: ['broken src/test/java/calc/MulTest.java'],
  },
  {
    runner: 'dotnet',
    by: 'the TRX logger',
    command: 'dotnet test',
    files: ['Calc.Tests/AddTests.cs'],
    output: {},
    reports: {
      'a.trx': `<?xml version="1.0" encoding="utf-8"?>
<TestRun id="1" name="x" xmlns="http://microsoft.com/schemas/VisualStudio/TeamTest/2010">
  <Results>
    <UnitTestResult executionId="e1" testId="t1" testName="Calc.Tests.AddTests.Adds_010" outcome="Passed" />
    <UnitTestResult executionId="e2" testId="t2" testName="Calc.Tests.AddTests.Fails(a: 1)" outcome="Failed">
      <Output><ErrorInfo><Message>Assert.Equal() Failure</Message><StackTrace>at Calc</StackTrace></ErrorInfo></Output>
    </UnitTestResult>
    <UnitTestResult executionId="e3" testId="t3" testName="Calc.Tests.AddTests.Later" outcome="NotExecuted" />
  </Results>
  <TestDefinitions>
    <UnitTest name="a" id="t1"><TestMethod className="Calc.Tests.AddTests" name="Adds_010" /></UnitTest>
    <UnitTest name="b" id="t2"><TestMethod className="Calc.Tests.AddTests" name="Fails" /></UnitTest>
    <UnitTest name="c" id="t3"><TestMethod className="Calc.Tests.AddTests, Calc.Tests" name="Later" /></UnitTest>
  </TestDefinitions>
</TestRun>`,
    },
    expected: [
      'passed Calc.Tests/AddTests.cs: Calc.Tests.AddTests > Adds_010',
      'failed Calc.Tests/AddTests.cs: Calc.Tests.AddTests > Fails(a: 1)',
      'skipped Calc.Tests/AddTests.cs: Calc.Tests.AddTests > Later',
    ],
  },
  {
    runner: 'dotnet',
    by: 'the compiler',
    command: 'dotnet test',
    added: 'Calc/Mul.cs',
    output: {
      stdout:
        "<root>/Calc.Tests/MulTests.cs(7,31): error CS0103: The name 'Mul' does not exist in the current context [<root>/Calc.Tests/Calc.Tests.csproj]\n",
    },
    expected: ['missing Calc.Tests/MulTests.cs'],
  },
];

test.each(CASES)(
  '$runner: $by',
  async ({ runner: name, command, output, reports = {}, files = [], texts = {}, added, expected }) => {
    const filled = (text: string): string => text.replaceAll('<root>', root);
    const folder = join(root, '.run');
    const runner = runnerNamed(name);
    await mkdir(folder);
    for (const path of files) await write(join(root, path), '');
    for (const [path, text] of Object.entries(texts)) await write(join(root, path), text);
    for (const [path, text] of Object.entries(reports)) await write(join(folder, path), filled(text));
    const place = {
      script: testScript(command),
      worktree: root,
      pathInWorktree: createPathInWorktree(root),
      env: {},
      folder,
      caches: folder,
      report: runner.writes === undefined ? null : async () => Object.values(reports).map(filled),
      coverage: false,
      ask: () => {
        throw new Error('nothing is asked');
      },
    };
    const printed = {
      stdout: filled(output.stdout ?? ''),
      stderr: filled(output.stderr ?? ''),
      exitCode: output.exitCode ?? 1,
    };
    const found = await runner.read(place, printed);
    const changes = { added: [added ?? 'src/mul.js'], modified: [] };
    const brief = [
      ...(found?.cases ?? []).map(({ file, name: test, outcome }) => `${outcome} ${file}: ${test}`),
      ...(found?.loadFailures ?? []).map(
        (failure) => `${isMissingCode(failure, changes, root) ? 'missing' : 'broken'} ${failure.file}`,
      ),
    ];
    expect(found === null ? ['no report'] : brief).toEqual(expected);
  },
);

async function write(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text);
}
