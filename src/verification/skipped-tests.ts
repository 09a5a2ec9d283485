import { withoutComments } from './without-comments.ts';

const TEST = String.raw`(?<![\w$.])(?:test|it|describe|suite|specify)`;
const QUOTE = '["\'`]';
/** A string whose content was taken out. */
const NAME = String.raw`(?:"\s*"|'\s*'|\`\s*\`)`;
const VALUE = String.raw`\s*(?:[,}]|:\s*(?:true\b|[\d"'\`]))`;
const OPTION = String.raw`\{[^{}]*?\b(?:skip${VALUE}|(?:todo|only)\s*(?::(?!\s*false\b)|[,}]))`;

/**
 * How the languages say that a test is not run, is the only one that is run, or may fail. A condition is none of these: a
 * variant may not run on this machine, and its scenario is judged by those that do.
 */
const LEFT_OUT = [
  // JavaScript: the functions that make tests by their names, and under any other name where a test's name is given.
  String.raw`${TEST}(?:\.\w+)*\.(?:skip|todo|only|fails|failing)\b`,
  String.raw`\.(?:skip|todo|only)\s*\(\s*${QUOTE}`,
  String.raw`(?<![\w$.])x(?:it|test|describe|specify)(?:\.each)?\s*[(\`]`,
  String.raw`(?<![\w$.])f(?:it|describe)\s*\(\s*${QUOTE}`,
  String.raw`(?<![\w$.])(?:t|ctx|context|this)\.(?:skip|todo)\s*\(`,
  String.raw`${TEST}(?:\.\w+)*\s*\((?:[^(){},]*,)?\s*${OPTION}`,
  // A test under another name: there is a function after its options.
  String.raw`\(\s*${NAME}\s*,\s*${OPTION}[^{}]*\}?\s*,\s*(?:async\b|function\b|\(|[\w$]+\s*(?:=>|\)))`,
  // Python
  String.raw`\bmark\.(?:skip|xfail)\b|\bpytest\.(?:skip|importorskip|xfail)\s*\(`,
  String.raw`@(?:unittest\.)?(?:skip|expectedFailure)\b|\bself\.skipTest\s*\(`,
  // Go
  String.raw`(?<![\w.])t[bt]?\.Skip(?:f|Now)?\s*\(|\.Skip(?:f|Now)\s*\(`,
  // Rust
  String.raw`#\[\s*ignore\b`,
];
const RUBY = String.raw`^[ \t]*(?:skip|pending|x(?:it|describe|context|specify))\b(?![ \t]*[.=])`;

const ANY = new RegExp(LEFT_OUT.join('|'));
const ANY_OF_RUBY = new RegExp([...LEFT_OUT, RUBY].join('|'), 'm');

/** The number of the first line that leaves a test out; null where there is none. */
export function skippedTestLine(file: string, text: string): number | null {
  const { code } = withoutComments(file, text);
  const found = (file.endsWith('.rb') ? ANY_OF_RUBY : ANY).exec(code);
  return found === null ? null : code.slice(0, found.index).split('\n').length;
}
