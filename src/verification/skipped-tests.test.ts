import { expect, test } from 'vitest';
import { skippedTestLine, withoutComments } from './skipped-tests.ts';

test.each([
  ['a.test.js', "test.skip('010 a', () => {})"],
  ['a.test.js', 'test.skip(name, () => {})'],
  ['a.test.js', "check.skip('010 a', () => {})"],
  ['a.test.js', 'check.only(`010 a`, () => {})'],
  ['a.test.js', 'node.test.todo("010 a")'],
  ['a.test.js', "describe.concurrent.only('x', () => {})"],
  ['a.test.js', "it.skip.each([1])('010 %s', () => {})"],
  ['a.test.js', "test.fails('010', () => {})"],
  ['a.test.js', "xit('010', () => {})"],
  ['a.test.js', "fdescribe('010', () => {})"],
  ['a.test.js', "test('010', (t) => { t.skip(); })"],
  ['a.test.js', "test('010', (t) => { t.todo('later'); })"],
  ['a.test.js', "test('010', (ctx) => { ctx.skip(true) })"],
  ['a.test.js', "test('010', (context) => context.skip())"],
  ['a.test.js', "it('010', function () { this.skip(); })"],
  ['a.test.js', "test('010', { skip: true }, () => {})"],
  ['a.test.js', "test('010', { timeout: 5, todo: 'later' }, () => {})"],
  ['a.test.js', "test('010', { skip }, () => {})"],
  ['a.test.js', "check('010', { skip: 'not yet' }, async () => {})"],
  ['a.test.js', "test({ name: '010', skip: true }, () => {})"],
  ['a.test.js', 'test(name, { only: true }, () => {})'],
  ['a.test.js', "const url = 'http://x'; test.skip('010')"],
  ['a.test.js', "const quote = /[\"'`/]/; test.skip('010')"],
  ['a.test.js', "const text = `${a ? `b` : ''} it's`; test.skip('010')"],
  ['test_a.py', '@pytest.mark.skip\ndef test_010(): pass'],
  ['test_a.py', '@mark.xfail'],
  ['test_a.py', 'pytestmark = pytest.mark.skip'],
  ['test_a.py', "    pytest.skip('later')"],
  ['test_a.py', "        self.skipTest('later')"],
  ['a_test.go', 'func Test010(t *testing.T) { t.Skip("later") }'],
  ['a_test.go', 't.SkipNow()'],
  ['a_test.go', 't.Skipf("x %d", 1)'],
  ['tests/a.rs', '#[test]\n#[ignore]\nfn t010() {}'],
  ['tests/a.rs', '#[ignore = "later"]'],
  ['a_spec.rb', "  xit 'a' do"],
  ['a_spec.rb', "    skip 'later'"],
])('in %s a test is left out by %s', (file, text) => {
  expect(skippedTestLine(file, text)).not.toBeNull();
});

test.each([
  ['a.test.js', "test('010 a', () => {})"],
  ['a.test.js', 'const rows = await query.skip(10).limit(5)'],
  ['a.test.js', 'stream.skip(n)'],
  ['a.test.js', 'const page = { skip: false }'],
  ['a.test.js', "assert.deepEqual(list(), [{ todo: 'buy milk' }, { skip: 3 }])"],
  ['a.test.js', "await client.get('/items', { skip: 10, limit: 5 })"],
  ['a.test.js', "test('010', { skip: false }, () => {})"],
  ['a.test.js', "test('010', () => { add({ skip: 1 }); })"],
  ['a.test.js', "test('010 test.skip( is found', () => {})"],
  ['a.test.js', 'const text = "it.only(\'x\')"'],
  ['a.test.js', "const text = `one\ntest.skip('x')\ntwo`;"],
  ['a.test.js', "// test.skip('010')"],
  ['a.test.js', "/*\n test.skip('010')\n*/"],
  ['a.test.js', "const at = /test.skip('x')/;"],
  ['a.test.js', "exit(1); fit(curve); git.skipped('x'); t.skipped = 1"],
  ['test_a.py', '# @pytest.mark.skip\ndef test_010(): assert page(skip=10)'],
  ['test_a.py', '"""\npytest.skip(\'x\')\n"""'],
  ['a_test.go', 'q := db.Skip(10) // t.Skip("x")'],
  ['a_test.go', 'x := `t.Skip("x")`'],
  ['tests/a.rs', '// #[ignore]\nlet ignore = 1;'],
  ['a_spec.rb', "# skip 'x'\nlist.skip(3)\nskip = 3"],
])('in %s no test is left out by %s', (file, text) => {
  expect(skippedTestLine(file, text)).toBeNull();
});

test.each([
  ['a.test.js', "it.skipIf(process.env.CI)('010', () => {})"],
  ['a.test.js', "check('010', { skip: !fast, timeout: 5 }, run)"],
  ['test_a.py', "@pytest.mark.skipif(sys.platform == 'x', reason='y')"],
  ['test_a.py', "@unittest.skipUnless(x, 'y')"],
  ['tests/a.rs', "fn f<'a>(x: &'a str) {} #[cfg_attr(windows, ignore)]"],
])('in %s a variant may depend on a condition: %s', (file, text) => {
  expect(skippedTestLine(file, text)).toBeNull();
});

test('the line is the one where the words begin, whatever stands above', () => {
  const text = "/* one\n two */\nconst a = `x\ny`;\n\ncheck.skip(\n  '010 a',\n  () => {},\n);";
  expect(skippedTestLine('a.test.ts', text)).toBe(6);
});

test.each([
  ['a.ts', "get('http://x/010'); // 020", "get('http://x/010');"],
  ['a.ts', "a(); /* 010 */ test('020')", "a();           test('020')"],
  ['a.ts', 'test(`// 010 ${`/* ${1} */`}`) // 020', 'test(`// 010 ${`/* ${1} */`}`)'],
  ['a.ts', "test('it\\'s // 010') // 020", "test('it\\'s // 010')"],
  ['a.ts', "x.replace(/'\\/\\//, '010') // 020", "x.replace(/'\\/\\//, '010')"],
  ['a.ts', "a = b / c; test('010') // d / e", "a = b / c; test('010')"],
  ['a.go', 'Run("// 010", \'"\') // 020', 'Run("// 010", \'"\')'],
  ['a.rs', "fn t010<'a>(x: &'a str, y: char) { y == '\"' } // 020", "fn t010<'a>(x: &'a str, y: char) { y == '\"' }"],
  ['a.rs', 'let x = r#"a " // 010"#; // 020', 'let x = r#"a " // 010"#;'],
  ['a.py', "x = '# 010' # 020", "x = '# 010'"],
  ['a.py', 'x = """it\'s\n# 010"""\n# 020', 'x = """it\'s\n# 010"""\n'],
  ['a.rb', "it '#{x} 010' # 020", "it '#{x} 010'"],
  ['a.sh', 'test $# = 010 # 020', 'test $# = 010'],
  ['a.txt', '// 010 # 020', '// 010 # 020'],
])('%s without its comments: %j', (file, text, expected) => {
  expect(withoutComments(file, text).text.trimEnd()).toBe(expected.trimEnd());
});

test('lines keep their numbers and columns', () => {
  const { text, code } = withoutComments('a.ts', "/**\n * 010\n */\ntest('020'); // x\n");
  expect(text).toBe("   \n      \n   \ntest('020');     \n");
  expect(code).toBe("   \n      \n   \ntest('   ');     \n");
});

test('a comment whose end is not shown ends at the empty line that stands for it', () => {
  const { text } = withoutComments('a.ts', "/**\n * 010\n\ntest('020');\n/** 030 */\ntest('040');");
  expect(text.match(/\d+/g)).toEqual(['020', '040']);
});

test('a comment whose beginning is not shown is one', () => {
  expect(withoutComments('a.ts', "\n * 010\n */\ntest('020');").text.match(/\d+/g)).toEqual(['020']);
});

test('a string whose end is not shown hides no code behind the empty line', () => {
  const { code } = withoutComments('a.ts', "const a = `one\ntwo\n\ntest.skip('020');\nconst b = `x`;");
  expect(code).toContain('test.skip(');
});
