import type { LanguageSample } from './sample.ts';

/*
 * Runners of other languages that have to be on the machine: Maven and Gradle with JUnit, RSpec, Minitest, PHPUnit,
 * unittest, and what tox and nox start.
 */

const JAVA_TESTS = (name: string, junit: 4 | 5): string => `package calc;

import static org.junit.${junit === 4 ? 'Assert' : 'jupiter.api.Assertions'}.assertEquals;

import org.junit.${junit === 4 ? 'Test' : 'jupiter.api.Test'};

public class AddTest {
    @Test
    public void test010AddsTheNumber() {
        assertEquals(43, ${name}.to(1));
    }

    @Test
    public void test020AddsToLess() {
        assertEquals(41, ${name}.to(-1));
    }
}
`;
const JAVA_KNOWN = (junit: 4 | 5): string =>
  JAVA_TESTS('Main', junit)
    .replace('class AddTest', 'class MainTest')
    .replaceAll(/test0\d0/g, 'known');
const JAVA = (name: string): string =>
  `package calc;\n\npublic final class ${name} {\n    public static int to(int value) {\n        return value + 42;\n    }\n}\n`;
const java = (folder: string, junit: 4 | 5): Omit<LanguageSample, 'name' | 'needs' | 'command' | 'isMeasured'> => ({
  files: {
    '.gitignore': 'target\nbuild\n.gradle\n',
    [`${folder}src/main/java/calc/Main.java`]: JAVA('Main'),
    [`${folder}src/test/java/calc/MainTest.java`]: JAVA_KNOWN(junit),
  },
  design: [
    [`${folder}src/main/java/calc/Add.java`, 'Add'],
    [`${folder}src/test/java/calc/AddTest.java`, 'Add'],
  ],
  wrong: { [`${folder}src/test/java/calc/AddTest.java`]: JAVA_TESTS('Ad', junit) },
  tests: { [`${folder}src/test/java/calc/AddTest.java`]: JAVA_TESTS('Add', junit) },
  code: { [`${folder}src/main/java/calc/Add.java`]: JAVA('Add') },
  refusal:
    /src\/test\/java\/calc\/AddTest\.java can't be loaded, for another reason than the missing code: .*cannot find symbol/,
});

const POM = (inside: string): string => `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
${inside}
</project>
`;
const MODULE = `  <properties>
    <maven.compiler.source>17</maven.compiler.source>
    <maven.compiler.target>17</maven.compiler.target>
    <project.build.sourceEncoding>UTF-8</project.build.sourceEncoding>
  </properties>
  <dependencies>
    <dependency>
      <groupId>org.junit.jupiter</groupId>
      <artifactId>junit-jupiter</artifactId>
      <version>5.11.4</version>
      <scope>test</scope>
    </dependency>
  </dependencies>
  <build>
    <plugins>
      <plugin><artifactId>maven-resources-plugin</artifactId><version>3.3.1</version></plugin>
      <plugin><artifactId>maven-compiler-plugin</artifactId><version>3.13.0</version></plugin>
      <plugin><artifactId>maven-surefire-plugin</artifactId><version>3.2.5</version></plugin>
    </plugins>
  </build>`;
const COORDINATES = (name: string): string =>
  `  <groupId>calc</groupId>\n  <artifactId>${name}</artifactId>\n  <version>1</version>\n`;

const maven: LanguageSample = {
  ...java('', 5),
  name: 'Maven',
  needs: [['mvn', '--version']],
  command: 'mvn test',
  isMeasured: false,
};

const RUBY = `module Add
  def self.to(value)
    raise TypeError, 'not a number' unless value.is_a?(Integer)

    value + 42
  end
end
`;
const ruby = (
  file: string,
  known: string,
  tests: (path: string) => string,
): Omit<LanguageSample, 'name' | 'needs' | 'command' | 'isMeasured'> => ({
  files: { [file.replace('add', 'main')]: known },
  design: [
    ['lib/add.rb', 'Add'],
    [file, 'Add'],
  ],
  wrong: { [file]: tests('../lib/ad') },
  tests: { [file]: tests('../lib/add') },
  code: { 'lib/add.rb': RUBY },
  refusal: /can't be loaded, for another reason than the missing code: .*cannot load such file/,
});

const PHP_TESTS = (path: string): string => `<?php
require_once __DIR__ . '/../${path}';

class AddTest extends PHPUnit\\Framework\\TestCase
{
    public function test_010_adds_the_number(): void
    {
        $this->assertSame(43, Add::to(1));
    }

    public function test_020_refuses_text(): void
    {
        $this->expectException(TypeError::class);
        Add::to('x');
    }
}
`;

const PYTHON_TESTS = (module: string): string => `import unittest

from ${module} import add


class AddTest(unittest.TestCase):
    def test_010_adds_the_number(self):
        self.assertEqual(add(1), 43)

    def test_020_refuses_text(self):
        self.assertRaises(TypeError, add, "x")
`;
const python: Omit<LanguageSample, 'name' | 'needs' | 'command' | 'isMeasured'> = {
  files: {
    '.gitignore': '.tox\n.nox\n*.egg-info\n__pycache__\n',
    'calc.py': 'ANSWER = 42\n',
    'tests/__init__.py': '',
    'tests/test_main.py': PYTHON_TESTS('calc')
      .replace('import add', 'import ANSWER')
      .replace(/add\(1\), 43/, 'ANSWER, 42')
      .replace(/\n {4}def test_020[^]*$/, '')
      .replace('010_adds', 'knows'),
  },
  design: [
    ['adding.py', 'Add'],
    ['tests/test_adding.py', 'Add'],
  ],
  wrong: { 'tests/test_adding.py': PYTHON_TESTS('ading') },
  tests: { 'tests/test_adding.py': PYTHON_TESTS('adding') },
  code: {
    'adding.py':
      'def add(value):\n    if not isinstance(value, int):\n        raise TypeError("not a number")\n    return value + 42\n',
  },
  refusal:
    /tests\/test_adding\.py can't be loaded, for another reason than the missing code: ModuleNotFoundError: No module named 'ading'/,
};
const PYTEST = [['python3', '-c', 'import pytest']];

export const OTHER_RUNNERS: readonly LanguageSample[] = [
  { ...maven, files: { ...maven.files, 'pom.xml': POM(`${COORDINATES('calc')}${MODULE}`) } },
  {
    ...maven,
    ...java('core/', 5),
    name: 'Maven, several modules',
    files: {
      ...java('core/', 5).files,
      'pom.xml': POM(
        `${COORDINATES('calc')}  <packaging>pom</packaging>\n  <modules><module>core</module><module>app</module></modules>`,
      ),
      'core/pom.xml': POM(`${COORDINATES('core')}${MODULE}`),
      'app/pom.xml': POM(`${COORDINATES('app')}${MODULE}`),
      'app/src/test/java/calc/AppTest.java': JAVA_KNOWN(5)
        .replace('MainTest', 'AppTest')
        .replaceAll(/Main\.to\((-?)1\)/g, '(42 + $11)'),
    },
  },
  {
    ...java('', 4),
    name: 'Gradle',
    needs: [['gradle', '--version']],
    command: 'gradle test',
    isMeasured: false,
    files: {
      ...java('', 4).files,
      'settings.gradle': "rootProject.name = 'calc'\n",
      'build.gradle':
        "apply plugin: 'java'\n\n// Debian has JUnit in a folder of its own.\nrepositories {\n  maven { url 'file:///usr/share/maven-repo' }\n  mavenCentral()\n}\n\ndependencies { testCompile 'junit:junit:4.13.2' }\n",
    },
  },
  {
    ...ruby(
      'spec/add_spec.rb',
      "RSpec.describe 'main' do\n  it 'knows the answer' do\n    expect(42).to eq(42)\n  end\nend\n",
      (path) => `require_relative '${path}'

RSpec.describe Add do
  it '010 adds the number' do
    expect(Add.to(1)).to eq(43)
  end

  it '020 refuses text' do
    expect { Add.to('x') }.to raise_error(TypeError)
  end
end
`,
    ),
    name: 'RSpec',
    needs: [['rspec', '--version']],
    command: 'rspec',
    isMeasured: false,
  },
  ...[
    {
      name: 'Minitest',
      library: 'minitest',
      bring: 'minitest/autorun',
      base: 'Minitest::Test',
      raises: 'assert_raises',
    },
    {
      name: 'test-unit',
      library: 'test/unit/version',
      bring: 'test/unit',
      base: 'Test::Unit::TestCase',
      raises: 'assert_raise',
    },
  ].map(({ name, library, bring, base, raises }) => ({
    ...ruby(
      'test/test_add.rb',
      `require '${bring}'\n\nclass TestMain < ${base}\n  def test_knows_the_answer\n    assert_equal 42, 42\n  end\nend\n`,
      (path) => `require '${bring}'
require_relative '${path}'

class TestAdd < ${base}
  def test_010_adds_the_number
    assert_equal 43, Add.to(1)
  end

  def test_020_refuses_text
    ${raises}(TypeError) { Add.to('x') }
  end
end
`,
    ),
    name,
    needs: [['ruby', '-e', `require '${library}'`]],
    command: `ruby -Ilib -Itest -e 'Dir["./test/**/{*_test,test_*}.rb"].each { \\|f\\| require f }'`,
    isMeasured: false,
  })),
  {
    name: 'PHPUnit',
    needs: [['phpunit', '--version']],
    files: {
      'phpunit.xml':
        '<phpunit><testsuites><testsuite name="all"><directory>tests</directory></testsuite></testsuites></phpunit>\n',
      'tests/MainTest.php': PHP_TESTS('src/main.php')
        .replace(/require_once.*\n/, '')
        .replace('AddTest', 'MainTest')
        .replace('Add::to(1)', '43')
        .replace('010', 'known')
        .replace(/\n {4}public function test_020[^]*?\n {4}\}\n/, ''),
    },
    design: [
      ['src/Add.php', 'Add'],
      ['tests/AddTest.php', 'Add'],
    ],
    wrong: { 'tests/AddTest.php': PHP_TESTS('src/Ad.php') },
    tests: { 'tests/AddTest.php': PHP_TESTS('src/Add.php') },
    code: {
      'src/Add.php':
        "<?php\n\nclass Add\n{\n    public static function to($value)\n    {\n        if (!is_int($value)) {\n            throw new TypeError('not a number');\n        }\n\n        return $value + 42;\n    }\n}\n",
    },
    command: 'phpunit',
    refusal: /tests\/AddTest\.php can't be loaded, for another reason than the missing code: .*src\/Ad\.php/,
    isMeasured: false,
  },
  {
    ...python,
    name: 'unittest',
    needs: [['python3', '--version']],
    command: 'python3 -m unittest discover',
    isMeasured: false,
  },
  {
    ...python,
    name: 'tox as the command',
    needs: [...PYTEST, ['tox', '--version']],
    files: {
      ...python.files,
      'agentos.yaml': 'tests: { command: tox, runner: pytest }\n',
      'tox.ini':
        '[tox]\nskipsdist = true\n\n[testenv]\nsitepackages = true\ncommands = python3 -m pytest {posargs}\nallowlist_externals = python3\n',
    },
    command: 'tox',
    isMeasured: false,
  },
  {
    ...python,
    name: 'nox as the command',
    needs: [...PYTEST, ['nox', '--version']],
    files: {
      ...python.files,
      'agentos.yaml': 'tests: { command: nox, runner: pytest }\n',
      'noxfile.py':
        'import nox\n\n\n@nox.session(venv_backend="none")\ndef tests(session):\n    session.run("python3", "-m", "pytest", *session.posargs)\n',
    },
    command: 'nox',
    isMeasured: false,
  },
];
