import { expect, test } from 'vitest';
import { parseJunit } from './junit.ts';
import type { Reading } from './report.ts';

const FILES = new Set(['tests/test_ok.py', 'tests/test_missing.py', 'test/ok.test.js', 'src/FooTest.java']);

function read(xml: string): Reading | null {
  return parseJunit(xml, (path) => {
    const file = path.replace(/^\/w\//, '');
    return FILES.has(file) ? file : null;
  });
}

const brief = (reading: Reading | null): unknown =>
  reading?.cases.map(({ file, name, outcome }) => [file, name, outcome]);

test("pytest's report: classes become suites, and a failed collection is no case", () => {
  const reading = read(`<?xml version="1.0" encoding="utf-8"?><testsuites name="pytest tests"><testsuite name="pytest"
    errors="2" failures="2" skipped="2" tests="9" time="0.1">
    <testcase classname="" name="tests.test_missing" file="tests/test_missing.py" time="0.000"><error message="collection failure">ImportError while importing test module '/w/tests/test_missing.py'.
E   ModuleNotFoundError: No module named 'pkg.b'</error></testcase>
    <testcase classname="tests.test_ok" name="test_pass" file="tests/test_ok.py" line="2" time="0.000" />
    <testcase classname="tests.test_ok.TestC.TestD" name="test_m[a b]" file="tests/test_ok.py" line="6" time="0.000" />
    <testcase classname="tests.test_ok" name="test_fail" file="tests/test_ok.py" line="3"><failure message="assert 1 == 2&#10; +  where">&gt;  assert f()==2
E   assert 1 == 2</failure></testcase>
    <testcase classname="tests.test_ok" name="test_skip" file="tests/test_ok.py"><skipped type="pytest.skip" message="r">x</skipped></testcase>
    <testcase classname="tests.test_ok" name="test_xfail" file="tests/test_ok.py"><skipped type="pytest.xfail" message="" /></testcase>
    <testcase classname="tests.test_ok" name="test_xpass" file="tests/test_ok.py"><failure message="[XPASS(strict)] ">[XPASS(strict)] </failure></testcase>
    <testcase classname="tests.test_ok" name="test_twice" file="tests/test_ok.py"/>
    <testcase classname="tests.test_ok" name="test_twice" file="tests/test_ok.py"><error message="failed on teardown">ValueError</error></testcase>
    </testsuite></testsuites>`);
  expect(brief(reading)).toEqual([
    ['tests/test_ok.py', 'test_pass', 'passed'],
    ['tests/test_ok.py', 'TestC > TestD > test_m[a b]', 'passed'],
    ['tests/test_ok.py', 'test_fail', 'failed'],
    ['tests/test_ok.py', 'test_skip', 'skipped'],
    ['tests/test_ok.py', 'test_xfail', 'skipped'],
    ['tests/test_ok.py', 'test_xpass', 'failed'],
    ['tests/test_ok.py', 'test_twice', 'failed'],
  ]);
  expect(reading?.loadFailures).toEqual([
    { file: 'tests/test_missing.py', message: expect.stringContaining("No module named 'pkg.b'") },
  ]);
});

test('nested suites are joined, and the class is not repeated', () => {
  const reading = read(`<testsuite name="com.example.FooTest" file="/w/src/FooTest.java"><testsuite name="inner">
    <testcase name="bar" classname="com.example.FooTest"><failure type="AssertionError"><![CDATA[expected <1> & got]]></failure></testcase>
    <testcase name="baz" classname="Other"/></testsuite></testsuite>`);
  expect(brief(reading)).toEqual([
    ['src/FooTest.java', 'com.example.FooTest > inner > bar', 'failed'],
    ['src/FooTest.java', 'com.example.FooTest > inner > Other > baz', 'passed'],
  ]);
  expect(reading?.cases[0]?.message).toBe('expected <1> & got');
});

test('a suite or class that is a file of the worktree is the file', () => {
  const reading = read(`<testsuites name="vitest tests"><testsuite name="test/ok.test.js">
    <testcase classname="test/ok.test.js" name="outer &gt; passes"/></testsuite></testsuites>`);
  expect(brief(reading)).toEqual([['test/ok.test.js', 'outer > passes', 'passed']]);
});

test('an error of a whole suite is a load failure', () => {
  const reading = read('<testsuite name="s"><error message="no class def found">stack</error></testsuite>');
  expect(reading).toEqual({ cases: [], loadFailures: [{ file: null, message: 'no class def found\nstack' }] });
});

test('a report without tests is an empty one; other XML is none', () => {
  expect(read('<testsuites/>')).toEqual({ cases: [], loadFailures: [] });
  expect(read('<coverage/>')).toBeNull();
  expect(read('<testsuites><testsuite>')).toBeNull();
});

test('entities, CDATA, both kinds of quotes and a byte-order mark are read; numbers and blanks stay text', () => {
  const reading = read(`\uFEFF<?xml version="1.0"?><!DOCTYPE x><!-- <no> --><testsuite name='007'>
    <testcase name="1 &lt; 2 &#x41; x -> y"><failure message='&quot;'>t&amp;u<![CDATA[<raw> & ]] ]]></failure></testcase></testsuite>`);
  expect(reading?.cases).toEqual([
    { file: null, name: '007 > 1 < 2 A x -> y', outcome: 'failed', message: '"\nt&u<raw> & ]]' },
  ]);
});

test('what is cut off, crossed or no XML at all is no report', () => {
  for (const text of ['', 'plain', '<a>', '<a><b></a></b>', '<a><![CDATA[x</a>', '<a x=1/>', '</a>', '<a', '<!-- '])
    expect(read(text.replaceAll('a>', 'testsuite>')), text).toBeNull();
});
