import { extname } from 'node:path';

const TEST = String.raw`(?<![\w$.])(?:test|it|describe|suite|specify)`;
const QUOTE = '["\'`]';
/** A string literal with blanked content. */
const NAME = String.raw`(?:"\s*"|'\s*'|\`\s*\`)`;
const VALUE = String.raw`\s*(?:[,}]|:\s*(?:true\b|[\d"'\`]))`;
const OPTION = String.raw`\{[^{}]*?\b(?:skip${VALUE}|(?:todo|only)\s*(?::(?!\s*false\b)|[,}]))`;

/**
 * Syntax that skips a test, focuses on it, or lets it fail. Conditional skips are allowed: a variant may not be able to run
 * on this machine, and the other tests of its scenario decide.
 */
const LEFT_OUT = [
  // JavaScript: on the usual test functions, and on any function that is called with a test's name.
  String.raw`${TEST}(?:\.\w+)*\.(?:skip|todo|only|fails|failing)\b`,
  String.raw`\.(?:skip|todo|only)\s*\(\s*${QUOTE}`,
  String.raw`(?<![\w$.])x(?:it|test|describe|specify)(?:\.each)?\s*[(\`]`,
  String.raw`(?<![\w$.])f(?:it|describe)\s*\(\s*${QUOTE}`,
  String.raw`(?<![\w$.])(?:t|ctx|context|this)\.(?:skip|todo)\s*\(`,
  String.raw`${TEST}(?:\.\w+)*\s*\((?:[^(){},]*,)?\s*${OPTION}`,
  // Any function called with a name, options and a callback is a test.
  String.raw`\(\s*${NAME}\s*,\s*${OPTION}[^{}]*\}?\s*,\s*(?:async\b|function\b|\(|[\w$]+\s*(?:=>|\)))`,
  // Python
  String.raw`\bmark\.(?:skip|xfail)\b|\bpytest\.(?:skip|importorskip|xfail)\s*\(`,
  String.raw`@(?:unittest\.)?(?:skip|expectedFailure)\b|\bself\.skipTest\s*\(`,
  // Go
  String.raw`(?<![\w.])t[bt]?\.Skip(?:f|Now)?\s*\(|\.Skip(?:f|Now)\s*\(`,
  // Rust
  String.raw`#\[\s*ignore\b`,
];
const RUBY_SKIPS = String.raw`^[ \t]*(?:skip|pending|x(?:it|describe|context|specify))\b(?![ \t]*[.=])`;

const ANY = new RegExp(LEFT_OUT.join('|'));
const ANY_OF_RUBY = new RegExp([...LEFT_OUT, RUBY_SKIPS].join('|'), 'm');

/** The number of the first line that skips or focuses a test, or null. */
export function skippedTestLine(file: string, text: string): number | null {
  const { code } = withoutComments(file, text);
  const found = (file.endsWith('.rb') ? ANY_OF_RUBY : ANY).exec(code);
  return found === null ? null : code.slice(0, found.index).split('\n').length;
}

/** Two views of a source text. Removed characters become blanks, so that line numbers stay the same. */
interface SourceViews {
  /** Without comments. */
  text: string;
  /** Without comments and without the content of strings; the quotes stay. */
  code: string;
}

/*
 * The text may be part of a file, with empty lines in place of the rest. A comment or string without an end must not swallow
 * everything after it, so anything that spans lines ends at the next empty line at the latest.
 */
const LINE = String.raw`//[^\n]*`;
const BLOCK = [
  String.raw`/\*(?:(?!\n[ \t]*/\*|\*/)[^])*\*/`,
  String.raw`/\*[^\n]*(?:\n[ \t]*[^\s][^\n]*)*`,
  // A line from the middle of a comment.
  String.raw`^[ \t]*\*(?:[ \t][^\n]*|/|$)`,
];
const HASH = String.raw`#[^\n]*`;
const SINGLE = String.raw`'(?:\\[^]|[^'\\\n])*'?`;
const DOUBLE = String.raw`"(?:\\[^]|[^"\\\n])*"?`;
const CHARACTER = String.raw`'(?:\\[^\n']+|\\'|[^'\\\n])'`;
const BETWEEN = String.raw`\n(?![ \t]*\n)`;
const TEMPLATE = [
  String.raw`\`(?:\\[^]|\$\{(?:[^{}\`]|\`[^\`]*\`|\{[^{}]*\})*\}|\$(?!\{)|[^\`\\$\n]|${BETWEEN})*\``,
  String.raw`\`[^\`\n]*\`?`,
];
const REGEXP = String.raw`(?<=(?:[(,=:\[!&|?{};]|=>|\breturn|^)[ \t]*)/(?![*/])(?:\\[^\n]|\[(?:\\[^\n]|[^\]\\\n]){0,300}\]|[^/\\\[\n]){1,900}/`;
const TRIPLE = [`"""(?:[^"\\n]|"(?!"")|${BETWEEN})*"""`, `'''(?:[^'\\n]|'(?!'')|${BETWEEN})*'''`];

function language(comments: readonly string[], strings: readonly string[]): RegExp {
  return new RegExp(`(?<comment>${comments.join('|')})|${strings.join('|')}`, 'gm');
}

const JAVASCRIPT = language([LINE, ...BLOCK], [SINGLE, DOUBLE, ...TEMPLATE, REGEXP]);
const GO = language([LINE, ...BLOCK], [CHARACTER, DOUBLE, ...TEMPLATE]);
const RUST = language([LINE, ...BLOCK], [String.raw`r(?<hashes>#*)"[^]*?"\k<hashes>`, CHARACTER, DOUBLE]);
const PYTHON = language([HASH], [...TRIPLE, SINGLE, DOUBLE]);
const RUBY = language([HASH, String.raw`^=begin\b[^]*?^=end\b[^\n]*`], [SINGLE, DOUBLE]);
const SHELL = language([String.raw`(?<![^\s;])#[^\n]*`], [SINGLE, DOUBLE]);

const LANGUAGES: Readonly<Record<string, RegExp>> = {
  ...Object.fromEntries('.js .jsx .mjs .cjs .ts .tsx .mts .cts'.split(' ').map((ending) => [ending, JAVASCRIPT])),
  ...Object.fromEntries('.java .kt .scala .cs .swift .c .cc .cpp .go'.split(' ').map((ending) => [ending, GO])),
  ...Object.fromEntries('.sh .bash .bats'.split(' ').map((ending) => [ending, SHELL])),
  '.rs': RUST,
  '.py': PYTHON,
  '.rb': RUBY,
};

/** In an unknown language, everything counts as code. */
export function withoutComments(file: string, text: string): SourceViews {
  const pieces = LANGUAGES[extname(file)];
  if (pieces === undefined) return { text, code: text };
  const view = (string: (piece: string) => string): string =>
    text.replace(pieces, (piece: string, comment: string | undefined) =>
      comment === undefined ? string(piece) : blank(piece),
    );
  return {
    text: view((piece) => piece),
    code: view((piece) => (piece.length < 2 ? piece : `${piece[0]}${blank(piece.slice(1, -1))}${piece.at(-1)}`)),
  };
}

function blank(text: string): string {
  return text.replace(/[^\n]/g, ' ');
}
