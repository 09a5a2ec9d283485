import { posix } from 'node:path';
import type { RunnerName } from '../../../src/testing/port.ts';
import { type Examples, fileName, type TrivialItem, WORDS } from './item.ts';

/** Null where no style of that runner is known. */
export function itemInOtherLanguage(runner: RunnerName, examples: Examples): TrivialItem | null {
  switch (runner) {
    case 'pytest':
    case 'unittest':
      return inPython(runner, examples);
    case 'go':
      return inGo(examples);
    case 'cargo':
      return inRust(examples);
    case 'rspec':
    case 'minitest':
    case 'test-unit':
      return inRuby(runner, examples);
    case 'phpunit':
      return inPhp(examples);
    case 'maven':
    case 'gradle':
      return inJava(examples);
    default:
      return null;
  }
}

function inPython(runner: RunnerName, { test, testText, source }: Examples): TrivialItem {
  const code = posix.join(posix.dirname(source), 'add_forty_two.py');
  const module = code
    .replace(/^src\//, '')
    .replace(/\.py$/, '')
    .replaceAll('/', '.');
  const name = test.endsWith('_test.py') ? 'add_forty_two_test.py' : 'test_add_forty_two.py';
  const isClass = runner === 'unittest' || /^class \w+\(unittest\.TestCase\)/m.test(testText);
  const cases = isClass
    ? `import unittest

from ${module} import add_forty_two


class AddFortyTwoTest(unittest.TestCase):
    def test_010_adds_the_number(self):
        self.assertEqual(add_forty_two(1), 43)

    def test_020_refuses_text(self):
        self.assertRaises(TypeError, add_forty_two, "x")
`
    : `import pytest

from ${module} import add_forty_two


def test_010_adds_the_number():
    assert add_forty_two(1) == 43


def test_020_refuses_text():
    with pytest.raises(TypeError):
        add_forty_two("x")
`;
  const body = `def add_forty_two(value):
    if not isinstance(value, int):
        raise TypeError("not a number")
    return value + 42
`;
  return { tests: { [posix.join(posix.dirname(test), name)]: cases }, code: { [code]: body } };
}

function inGo({ test, testText }: Examples): TrivialItem {
  const folder = posix.dirname(test);
  const name = (/^package (\w+)/m.exec(testText)?.[1] ?? 'main').replace(/_test$/, '');
  const cases = `package ${name}

import "testing"

func Test010AddsTheNumber(t *testing.T) {
	if addFortyTwo(1) != 43 {
		t.Fatal("not added")
	}
}

func Test020AddsToLess(t *testing.T) {
	if addFortyTwo(-1) != 41 {
		t.Fatal("not added")
	}
}
`;
  const body = `package ${name}

func addFortyTwo(value int) int {
	return value + 42
}
`;
  return {
    tests: { [posix.join(folder, 'add_forty_two_test.go')]: cases },
    code: { [posix.join(folder, 'add_forty_two.go')]: body },
  };
}

/** Tests of their own file are integration tests: they see what the library exports. */
function inRust({ source, read, paths }: Examples): TrivialItem | null {
  const folder = source.replace(/(?:src\/)?[^/]*$/, '');
  const library = source;
  if (!paths.includes(library)) return null;
  const manifest = read(`${folder}Cargo.toml`);
  const name = (/^\s*name\s*=\s*"([^"]+)"/m.exec(manifest)?.[1] ?? '').replaceAll('-', '_');
  const extern = /^\s*edition\s*[=.]/m.test(manifest) ? '' : `extern crate ${name};\n\n`;
  const cases = `${extern}use ${name}::add_forty_two;

#[test]
fn test_010_adds_the_number() {
    assert_eq!(add_forty_two(1), 43);
}

#[test]
fn test_020_adds_to_less() {
    assert_eq!(add_forty_two(-1), 41);
}
`;
  const body = `/// Adds 42.
pub fn add_forty_two(value: i32) -> i32 {
    value + 42
}
`;
  return {
    tests: { [`${folder}tests/add_forty_two.rs`]: cases },
    code: {
      [posix.join(posix.dirname(library), 'add_forty_two.rs')]: body,
      [library]: `${read(library).trimEnd()}\n\nmod add_forty_two;\npub use add_forty_two::add_forty_two;\n`,
    },
  };
}

function inRuby(runner: RunnerName, { test, testText, source }: Examples): TrivialItem {
  const code = posix.join(posix.dirname(source), 'add_forty_two.rb');
  const required = code.replace(/^lib\//, '').replace(/\.rb$/, '');
  const headers = testText.split('\n').filter((line) => /^(?:require(?:_relative)? |#.*frozen)/.test(line));
  const helpers = headers.filter((line) => /helper|minitest|test\/unit|frozen/.test(line)).join('\n');
  const load = code.startsWith('lib/')
    ? `require '${required}'`
    : `require_relative '${posix.relative(posix.dirname(test), code).replace(/\.rb$/, '')}'`;
  const isSpec = runner === 'rspec' || test.endsWith('_spec.rb');
  const name = isSpec
    ? 'add_forty_two_spec.rb'
    : posix.basename(test).startsWith('test_')
      ? 'test_add_forty_two.rb'
      : 'add_forty_two_test.rb';
  const cases = isSpec
    ? `${runner === 'rspec' ? 'RSpec.describe' : 'describe'} 'add_forty_two' do
  it '010 adds the number' do
    ${runner === 'rspec' ? 'expect(AddFortyTwo.call(1)).to eq(43)' : '_(AddFortyTwo.call(1)).must_equal 43'}
  end

  it '020 refuses text' do
    ${runner === 'rspec' ? "expect { AddFortyTwo.call('x') }.to raise_error(TypeError)" : "_(proc { AddFortyTwo.call('x') }).must_raise TypeError"}
  end
end
`
    : `class TestAddFortyTwo < ${runner === 'minitest' ? 'Minitest::Test' : 'Test::Unit::TestCase'}
  def test_010_adds_the_number
    assert_equal 43, AddFortyTwo.call(1)
  end

  def test_020_refuses_text
    assert_raise${runner === 'minitest' ? 's' : ''}(TypeError) { AddFortyTwo.call('x') }
  end
end
`;
  const body = `# frozen_string_literal: true

module AddFortyTwo
  def self.call(value)
    raise TypeError, 'not a number' unless value.is_a?(Integer)

    value + 42
  end
end
`;
  // A single file with all tests is started by its name: the new ones go into it.
  if (posix.basename(test) === 'test.rb')
    return { tests: { [test]: `${testText.trimEnd()}\n\n${load}\n\n${cases}` }, code: { [code]: body } };
  return {
    tests: { [posix.join(posix.dirname(test), name)]: `${helpers}\n${load}\n\n${cases}` },
    code: { [code]: body },
  };
}

function inPhp({ test, testText, source, sourceText }: Examples): TrivialItem {
  const space = /^namespace ([\w\\]+);/m.exec(sourceText)?.[1];
  const testSpace = /^namespace ([\w\\]+);/m.exec(testText)?.[1];
  const base = /^use (PHPUnit\\Framework\\TestCase);/m.exec(testText)?.[1] ?? 'PHPUnit\\Framework\\TestCase';
  const code = posix.join(posix.dirname(source), 'AddFortyTwo.php');
  const relative = posix.relative(posix.dirname(test), code);
  const load = space === undefined ? `require_once __DIR__ . '/${relative}';\n` : `use ${space}\\AddFortyTwo;\n`;
  const cases = `<?php

${testSpace === undefined ? '' : `namespace ${testSpace};\n\n`}use ${base};
${load}
class AddFortyTwoTest extends TestCase
{
    public function test_010_adds_the_number()
    {
        $this->assertSame(43, AddFortyTwo::to(1));
    }

    public function test_020_refuses_text()
    {
        $this->expectException(\\TypeError::class);
        AddFortyTwo::to('x');
    }
}
`;
  const body = `<?php

${space === undefined ? '' : `namespace ${space};\n\n`}class AddFortyTwo
{
    public static function to($value)
    {
        if (!is_int($value)) {
            throw new \\TypeError('not a number');
        }

        return $value + 42;
    }
}
`;
  return { tests: { [posix.join(posix.dirname(test), 'AddFortyTwoTest.php')]: cases }, code: { [code]: body } };
}

function inJava({ test, testText, source, sourceText }: Examples): TrivialItem {
  const space = /^package ([\w.]+);/m.exec(sourceText)?.[1] ?? '';
  const isFour = /import org\.junit\.(?:Test|\*);/.test(testText);
  const imports = isFour
    ? 'import static org.junit.Assert.assertEquals;\n\nimport org.junit.Test;'
    : 'import static org.junit.jupiter.api.Assertions.assertEquals;\n\nimport org.junit.jupiter.api.Test;';
  const licence = /^\/\*[^]*?\*\/\n/.exec(sourceText)?.[0] ?? '';
  const package_ = space === '' ? '' : `package ${space};\n\n`;
  const cases = `${licence}${package_}${imports}

public class AddFortyTwoTest {
    @Test
    public void test010AddsTheNumber() {
        assertEquals(43, AddFortyTwo.to(1));
    }

    @Test
    public void test020AddsToLess() {
        assertEquals(41, AddFortyTwo.to(-1));
    }
}
`;
  const body = `${licence}${package_}/** Adds 42. */
public final class AddFortyTwo {
    private AddFortyTwo() {
    }

    /**
     * Adds 42.
     * @param value what to add to
     * @return the sum
     */
    public static int to(final int value) {
        return value + 42;
    }
}
`;
  const name = fileName('A.java', WORDS);
  return {
    tests: { [posix.join(posix.dirname(test), `${name}Test.java`)]: cases },
    code: { [posix.join(posix.dirname(source), `${name}.java`)]: body },
  };
}
