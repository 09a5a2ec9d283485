import { expect, test } from 'vitest';
import { withoutComments } from './without-comments.ts';

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
