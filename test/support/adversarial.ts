import { readFileSync } from 'node:fs';
import { parseItemId } from '../../src/core/ids.ts';
import { createLineReader, oneLine } from '../../src/core/lines.ts';
import { createOutputKeeper, errorLine, errorLines, reasonIn } from '../../src/core/reason.ts';
import { evidenceIn } from '../../src/documents/already-done.ts';
import { isDecision } from '../../src/documents/decision.ts';
import { readHeader } from '../../src/documents/header.ts';
import { checkIssue } from '../../src/documents/issue.ts';
import { disputesIn, emptyLedger, raise } from '../../src/documents/ledger.ts';
import { checkLld } from '../../src/documents/lld/checks.ts';
import { designFacts, isLld } from '../../src/documents/lld/document.ts';
import { foldResolvedQuestions, keepAnswers, openQuestions } from '../../src/documents/questions.ts';
import { isReview, readReview, unusableReview } from '../../src/documents/review/reader.ts';
import { documentFromReply, ISSUE_FORM, isAlreadyDone, LLD_FORM } from '../../src/documents/revise/reply.ts';
import { formatReviewLog, withoutReviewLog } from '../../src/documents/revise/review-log.ts';
import { reviseDraft } from '../../src/documents/revise/revision.ts';
import { normaliseText, parseMarkdown } from '../../src/markdown/markdown.ts';
import { asCode, asText } from '../../src/markdown/writer.ts';
import { printable } from '../../src/output/terminal.ts';
import { tableOf } from '../../src/process/python.ts';
import { allowedHosts, REGISTRY_FILES } from '../../src/process/sandbox/registries.ts';
import { queryOf } from '../../src/prompts/context/query.ts';
import { holdsKey } from '../../src/prompts/context/secrets.ts';
import { tagged } from '../../src/prompts/tags.ts';
import { parseIssue } from '../../src/source/directory.ts';
import { outsideText } from '../../src/source/remote-issue.ts';
import { withScriptsExpanded } from '../../src/testing/npm-scripts.ts';
import { parseJunit } from '../../src/testing/reports/junit.ts';
import { parseLines } from '../../src/testing/reports/lines.ts';
import { parseGoProfile, parseLcov } from '../../src/testing/reports/report.ts';
import { parseTap } from '../../src/testing/reports/tap.ts';
import { parseCompileErrors, parseLibtest } from '../../src/testing/runners/cargo.ts';
import { parseTrx } from '../../src/testing/runners/compiled.ts';
import { parseGoEvents } from '../../src/testing/runners/go.ts';
import { typescriptErrors, withPrintedErrors } from '../../src/testing/runners/javascript.ts';
import { isMissingCode, testScript } from '../../src/testing/runners.ts';
import { shellCommands } from '../../src/testing/script.ts';
import { readReportStatus } from '../../src/verification/report.ts';
import { skippedTestLine } from '../../src/verification/skipped-tests.ts';
import { filledTemplate } from '../../src/workflow/document.ts';
import { findDuplicates } from '../../src/workflow/duplicates.ts';

const here = (path: string): string | null => path;
const LLD = readFileSync(new URL('../fixtures/lld/LLD-42.md', import.meta.url), 'utf8');
export const READERS: Record<string, (text: string) => unknown> = {
  parseMarkdown: (t) => parseMarkdown(normaliseText(t)),
  readReview,
  isReview,
  unusableReview,
  checkIssue,
  designFacts,
  isLld,
  readHeader,
  readReportStatus,
  checkLld: (t) => checkLld(t, { tree: null }),
  checkLldTail: (t) =>
    checkLld(`# 42 - Feature: x\n\n## 3. Requirements\n1. a\n\n## 10. Verification & Testing\n\n${t}`, { tree: null }),
  openQuestions,
  evidenceIn,
  isAlreadyDone,
  isDecision,
  disputesIn,
  foldResolvedQuestions: (t) => foldResolvedQuestions(t, [{ question: t.slice(0, 200), answer: 'x' }]),
  keepAnswers: (t) => keepAnswers(t, t),
  findDuplicates: (t) => findDuplicates({ title: t.slice(0, 100), body: t }, []),
  asText: (t) => asText(t),
  asCode: (t) => asCode(t),
  withoutReviewLog: (t) => withoutReviewLog(t),
  filledTemplate: (t) => filledTemplate('# {ID} - x', { id: '1', title: t.slice(0, 100), body: t, note: 'n' }),
  parseIssue: (t) => parseIssue(parseItemId('1'), t),
  queryOf: (t) => queryOf(t.slice(0, 200), t),
  oneLine,
  printable,
  lineReader: (t) => {
    const r = createLineReader(() => undefined);
    const b = Buffer.from(t);
    for (let at = 0; at < b.length; at += 100) r.push(b.subarray(at, at + 100));
    r.end();
  },
  errorLine: (t) => errorLine(t),
  errorLines: (t) => errorLines(t, 5),
  reasonIn,
  keeper: (t) => {
    const k = createOutputKeeper();
    for (const l of t.split('\n')) k.push(l);
    return k.text();
  },
  parseJunit: (t) => parseJunit(t, () => null),
  junitIn: (t) =>
    parseJunit(
      `<testsuites><testsuite name="a"><testcase name="b"><failure>${t}</failure></testcase></testsuite></testsuites>`,
      () => null,
    ),
  parseTap: (t) => parseTap(t, here),
  tapIn: (t) => parseTap(`TAP version 13\nnot ok 1 - a\n  ---\n  ${t}\n  ...\n1..1\n`, here),
  parseTrx,
  parseLcov: (t) => parseLcov(t, here as never),
  parseGoProfile: (t) => parseGoProfile(t, 'm'),
  parseLines: (t) => parseLines(t, here as never),
  shellCommands,
  testScript,
  parseGoEvents: (t) => parseGoEvents(t, t),
  parseLibtest: (t) => parseLibtest(t, () => null),
  parseCompileErrors: (t) => parseCompileErrors(t.split('\n')),
  typescriptErrors,
  printedErrors: (t) => withPrintedErrors(null, { stdout: t, stderr: '', exitCode: 1 }, here as never),
  skippedTestLine: (t) => skippedTestLine('a.test.ts', t),
  skippedPy: (t) => skippedTestLine('test_a.py', t),
  isMissingCode: (t) =>
    isMissingCode({ file: 'a.test.js', message: t } as never, { added: ['src/a.js'], modified: [] } as never, '/tmp'),
  documentFromReply: (t) => documentFromReply(t, LLD_FORM),
  documentFromReplyIssue: (t) => documentFromReply(t, ISSUE_FORM),
  reviseDraft: (t) => reviseDraft(LLD, t, { named: null }),
  ledger: (t) => formatReviewLog(raise(emptyLedger, { tier: 1, area: 'x', text: t } as never, 1)),
  registries: (t) => {
    const repository = Object.fromEntries(Object.keys(REGISTRY_FILES).map((name) => [name, t]));
    return allowedHosts({ env: {}, hosts: [], machine: {}, repository });
  },
  scripts: (t) => withScriptsExpanded('npm test', { test: t, x: t }),
  tableOf: (t) => tableOf(t, 'project'),
  holdsKey: (t) => holdsKey(t),
  outsideText,
  tagged: (t) => tagged('lld', t),
};
export const STRINGS: Record<string, (n: number) => string> = {
  spaces: (n) => ' '.repeat(n),
  tabs: (n) => '\t'.repeat(n),
  newlines: (n) => '\n'.repeat(n),
  'a spaces b': (n) => `a${' '.repeat(n)}b`,
  'spaces x lines': (n) => `${' '.repeat(200)}x\n`.repeat(n / 200),
  'open brackets': (n) => '['.repeat(n),
  'open parens': (n) => '('.repeat(n),
  'open braces': (n) => '{'.repeat(n),
  'open angles': (n) => '<'.repeat(n),
  'image open': (n) => '!['.repeat(n / 2),
  'link open': (n) => '[a]('.repeat(n / 4),
  backticks: (n) => '`'.repeat(n),
  'backtick runs': (n) => Array.from({ length: Math.sqrt(2 * n) | 0 }, (_, i) => `${'`'.repeat(i + 1)}a`).join(''),
  'backtick a': (n) => '`a '.repeat(n / 3),
  stars: (n) => '*'.repeat(n),
  'star a': (n) => '*a '.repeat(n / 3),
  'a star': (n) => 'a**b'.repeat(n / 4),
  underscores: (n) => '_'.repeat(n),
  tildes: (n) => '~'.repeat(n),
  pipes: (n) => '|'.repeat(n),
  'pipe rows': (n) => `|a|b|\n|-|-|\n${'|a|b|\n'.repeat(n / 6)}`,
  'wide table': (n) => `${'|a'.repeat(n / 4)}|\n${'|-'.repeat(n / 4)}|\n`,
  quotes: (n) => '>'.repeat(n),
  'quote lines': (n) => '> '.repeat(n / 2),
  'nested lists': (n) => Array.from({ length: Math.sqrt(n) | 0 }, (_, i) => `${' '.repeat(i * 2)}- a`).join('\n'),
  'list one line': (n) => '- '.repeat(n / 2),
  'mixed list line': (n) => '- * + '.repeat(n / 6),
  'ordered line': (n) => '1. '.repeat(n / 3),
  'list items': (n) => '- a\n'.repeat(n / 4),
  ordered: (n) => '1. a\n'.repeat(n / 5),
  checkboxes: (n) => '- [ ] a\n'.repeat(n / 8),
  headings: (n) => '# a\n'.repeat(n / 4),
  'deep headings': (n) => '###### 2.1 a\n'.repeat(n / 13),
  hashes: (n) => '#'.repeat(n),
  dashes: (n) => '-'.repeat(n),
  equals: (n) => '='.repeat(n),
  setext: (n) => 'a\n===\n'.repeat(n / 6),
  fences: (n) => '```\n'.repeat(n / 4),
  'fence open': (n) => '```a\n'.repeat(n / 5),
  'front matter open': (n) => `---\n${'a: b\n'.repeat(n / 5)}`,
  'front matter rules': (n) => `---\n${'--- x\n'.repeat(n / 6)}`,
  quotes1: (n) => '"'.repeat(n),
  quotes2: (n) => "'".repeat(n),
  'quote mix': (n) => `"'`.repeat(n / 2),
  backslashes: (n) => '\\'.repeat(n),
  dollars: (n) => '$('.repeat(n / 2),
  semis: (n) => ';'.repeat(n),
  amps: (n) => '&'.repeat(n),
  entities: (n) => '&amp;'.repeat(n / 5),
  commas: (n) => ','.repeat(n),
  dots: (n) => '.'.repeat(n),
  colons: (n) => ':'.repeat(n),
  slashes: (n) => '/'.repeat(n),
  path: (n) => 'a/'.repeat(n / 2),
  'dot path': (n) => '../'.repeat(n / 3),
  digits: (n) => '1'.repeat(n),
  'digits dots': (n) => '1.'.repeat(n / 2),
  letters: (n) => 'a'.repeat(n),
  words: (n) => 'word '.repeat(n / 5),
  'Words caps': (n) => 'Error: '.repeat(n / 7),
  'error lines': (n) => 'Error: x at y\n'.repeat(n / 14),
  'at frames': (n) => '    at a (b:1:2)\n'.repeat(n / 17),
  verdicts: (n) => '[x] **APPROVED**\n'.repeat(n / 17),
  'verdict words': (n) => 'Verdict: APPROVED '.repeat(n / 18),
  'issue refs': (n) => '#1 '.repeat(n / 3),
  'Depends on': (n) => `* **Depends on:** ${'#1, '.repeat(n / 4)}`,
  'html comments': (n) => '<!--'.repeat(n / 4),
  'html tags': (n) => '<a>'.repeat(n / 3),
  'xml nested': (n) => '<testsuite>'.repeat(n / 11),
  cdata: (n) => '<![CDATA['.repeat(n / 9),
  'json nested': (n) => '{"a":'.repeat(n / 5),
  'json arr': (n) => '[1,'.repeat(n / 3),
  'json block': (n) => `\`\`\`json\n${'{"verdict":'.repeat(n / 11)}\n\`\`\``,
  ansi: (n) => '\u001B['.repeat(n / 2),
  osc: (n) => '\u001B]0;'.repeat(n / 4),
  'csi digits': (n) => `\u001B[${'1;'.repeat(n / 2)}`,
  bidi: (n) => '\u202E'.repeat(n),
  'tap lines': (n) => 'ok 1 - a\n'.repeat(n / 9),
  'tap indented': (n) => Array.from({ length: Math.sqrt(n) | 0 }, (_, i) => `${'    '.repeat(i)}ok 1 - a`).join('\n'),
  'tap dash': (n) => `not ok 1 -${' '.repeat(n)}x`,
  lcov: (n) => 'SF:a\nDA:1,1\nend_of_record\n'.repeat(n / 26),
  'SF only': (n) => 'SF:a\n'.repeat(n / 5),
  'Add rows': (n) => `### 2.1 Files Changed\n|File|Change|Description|\n|-|-|-|\n${'|`a.js`|Add|x|\n'.repeat(n / 15)}`,
  mermaid: (n) => `\`\`\`mermaid\ngraph TD\n${'A-->B\n'.repeat(n / 6)}\`\`\``,
  'mermaid arrows': (n) => `\`\`\`mermaid\ngraph TD\nA${'-'.repeat(n)}\n\`\`\``,
  'mermaid sequence': (n) => `\`\`\`mermaid\nsequenceDiagram\n${'A->>B: x\n'.repeat(n / 9)}\`\`\``,
  'nested mix': (n) => '> - `[*_'.repeat(n / 8),
  question: (n) => `## Open Questions\n${'- [ ] a?\n'.repeat(n / 9)}`,
  'scenario table': (n) => `## 10. Test Plan\n|ID|Scenario|Type|Pass|\n|-|-|-|-|\n${'|010|a|Auto|b|\n'.repeat(n / 15)}`,
  'go fail': (n) => '--- FAIL: a (0.00s)\n'.repeat(n / 20),
  'cargo err': (n) => 'error[E0432]: unresolved import `a`\n'.repeat(n / 35),
  'ts err': (n) => "a.ts(1,2): error TS2307: Cannot find module 'x'\n".repeat(n / 48),
  'edit blocks': (n) => '<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n'.repeat(n / 42),
  'edit open': (n) => '<<<<<<< SEARCH\na\n'.repeat(n / 17),
  crlf: (n) => '\r'.repeat(n),
  'describe(': (n) => 'describe('.repeat(n / 9),
  'slash star': (n) => '/*'.repeat(n / 2),
  'triple quotes': (n) => '"""'.repeat(n / 3),
  template: (n) => '`${'.repeat(n / 3),
  regex: (n) => '/['.repeat(n / 2),
  unicode: (n) => 'é'.repeat(n),
  mojibake: (n) => 'Ã©'.repeat(n / 2),
  placeholder: (n) => '{{'.repeat(n / 2),
  TODO: (n) => 'TODO '.repeat(n / 5),
  unchanged: (n) => '*(unchanged)*\n'.repeat(n / 14),
  'unchanged open': (n) => '*('.repeat(n / 2),
};
