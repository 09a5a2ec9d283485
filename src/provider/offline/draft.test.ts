import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { checkLld } from '../../governance/lld/checks.ts';
import { readLld } from '../../governance/lld/document.ts';
import { openQuestions } from '../../governance/lld/fold-questions.ts';
import { documentFromReply } from '../../governance/lld/reply.ts';
import type { IssueMaterial } from '../../governance/material.ts';
import { draftScaffold } from './draft.ts';

const PATHS = ['package.json', 'README.md', 'src/index.js', 'src/teas.js', 'test/teas.test.js', '.env'];

function issueOf(body: string, title = 'Remember the last tea'): IssueMaterial {
  return { id: '42', title, body: `# ${title}\n\n${body}`.trim(), hash: 'any' };
}

function errorsOf(draft: string, paths: readonly string[] = PATHS, issueId = '42'): string[] {
  const files = new Set(paths);
  const folders = new Set(paths.filter((path) => path.includes('/')).map((path) => path.slice(0, path.indexOf('/'))));
  const tree = {
    kindOf: (path: string) => (files.has(path) ? ('file' as const) : folders.has(path) ? ('directory' as const) : null),
  };
  return checkLld(draft, { issueId, tree })
    .findings.filter(({ severity }) => severity === 'error')
    .map(({ rule, message }) => `${rule}: ${message}`);
}

function requirementsOf(draft: string): string[] {
  return readLld(draft).requirements.map(({ text }) => text);
}

function filesOf(draft: string): string[] {
  return readLld(draft).files.map(({ change, path }) => `${change} ${path}`);
}

describe('requirements come from the issue', () => {
  test('each acceptance criterion becomes a requirement with a scenario of its own', () => {
    const draft = draftScaffold(
      issueOf(
        'Why not.\n\n- not this\n\n## Acceptance criteria\n\n- [ ] `last()` gives the last tea\n- [x] It survives a restart\n',
      ),
      PATHS,
    );
    expect(requirementsOf(draft)).toEqual(['`last()` gives the last tea', 'It survives a restart']);
    expect(readLld(draft).scenarios.map(({ id, requirements }) => [id, requirements])).toEqual([
      ['010', [1]],
      ['020', [2]],
    ]);
    expect(openQuestions(draft)).toEqual([]);
    expect(errorsOf(draft)).toEqual([]);
  });

  test('without such a heading a checklist counts, then any list, then sentences', () => {
    expect(requirementsOf(draftScaffold(issueOf('- plain\n\ntext\n\n- [ ] ticked off later\n'), PATHS))).toEqual([
      'ticked off later',
    ]);
    expect(requirementsOf(draftScaffold(issueOf('Some words.\n\n1. first\n2. second\n'), PATHS))).toEqual([
      'first',
      'second',
    ]);
    expect(requirementsOf(draftScaffold(issueOf('It keeps the tea. It shows the tea.'), PATHS))).toEqual([
      'It keeps the tea.',
      'It shows the tea.',
    ]);
  });

  test('a nested item is read together with the one above it', () => {
    const draft = draftScaffold(
      issueOf('## Requirements\n\n- It keeps:\n  - the tea\n  - the cups\n- It is small\n'),
      PATHS,
    );
    expect(requirementsOf(draft)).toEqual(['It keeps: the tea', 'It keeps: the cups', 'It is small']);
  });

  test('labels of the issue do not number the requirements', () => {
    const draft = draftScaffold(
      issueOf('## Acceptance criteria\n\n- AC7: it keeps the tea\n- AC7: it shows the tea\n'),
      PATHS,
    );
    expect(readLld(draft).requirements.map(({ number, text }) => `${number} ${text}`)).toEqual([
      '1 it keeps the tea',
      '2 it shows the tea',
    ]);
  });

  test('an issue with nothing but a title asks for its criteria', () => {
    const draft = draftScaffold(issueOf(''), PATHS);
    expect(requirementsOf(draft)).toEqual(['Remember the last tea']);
    expect(openQuestions(draft)).toEqual(['What are the acceptance criteria?']);
    expect(errorsOf(draft)).toEqual([]);
  });

  test('more criteria than one design can hold are asked about', () => {
    const list = Array.from({ length: 57 }, (_, index) => `- it does thing ${index}`).join('\n');
    const draft = draftScaffold(issueOf(list), PATHS);
    expect(requirementsOf(draft)).toHaveLength(40);
    expect(openQuestions(draft)).toEqual([
      'The issue has 57 criteria, and this design holds the first 40: how is it to be split?',
    ]);
  });

  test('open questions of the issue stay open', () => {
    const draft = draftScaffold(
      issueOf('- it keeps the tea\n- does it keep the cups?\n\n## Open questions\n\n- For how long?\n- none\n'),
      PATHS,
    );
    expect(openQuestions(draft)).toEqual(['For how long?', 'does it keep the cups?']);
    expect(requirementsOf(draft)).toEqual(['it keeps the tea']);
  });
});

describe('words that a check would hold against the design', () => {
  test.each([
    ['a retry without a bound', 'Retry until the server answers'],
    ['a placeholder', 'TBD'],
    ['a template of ours', 'Shows {{issue id}} in the title'],
  ])('%s is quoted and asked about', (_, criterion) => {
    const draft = draftScaffold(issueOf(`- ${criterion}\n- it keeps the tea\n`), PATHS);
    expect(errorsOf(draft)).toEqual([]);
    expect(draft).toContain(`requirement 1: ${criterion.replace('{{', '{ {')}`);
    expect(openQuestions(draft)).toEqual([
      'Requirement 1, quoted below, leaves something open: what exactly is wanted?',
    ]);
    expect(requirementsOf(draft)).toEqual(['What section 1 quotes as requirement 1 holds.', 'it keeps the tea']);
  });

  test('a check by hand is kept as a requirement, and asked about', () => {
    const draft = draftScaffold(issueOf('- Manually verify the page\n'), PATHS);
    expect(errorsOf(draft)).toEqual([]);
    expect(requirementsOf(draft)).toEqual(['Manually verify the page']);
    expect(openQuestions(draft)).toEqual([
      "Requirement 1 can't be checked by a program in the issue's words: what is to be checked?",
    ]);
  });

  test('a retry with a bound is a requirement like any other', () => {
    const draft = draftScaffold(issueOf('- Retry at most 3 times, then fail with exit code 1\n'), PATHS);
    expect(errorsOf(draft)).toEqual([]);
    expect(openQuestions(draft)).toEqual([]);
  });

  test('markup, bars, tags and braces are shown as they were written', () => {
    const text = 'a | b `c | d` <b>e</b> **f** {{g}} &amp; [h](i) ~~j~~ # k \\ l';
    const draft = draftScaffold(
      issueOf(
        `\`\`\`\ncode\n\`\`\`\n\n- a | b \`c | d\` &lt;b&gt;e&lt;/b&gt; \\*\\*f\\*\\* {{g}} &amp;amp; \\[h\\](i) \\~\\~j\\~\\~ # k \\\\ l\n`,
      ),
      PATHS,
    );
    expect(requirementsOf(draft).map((requirement) => requirement.replaceAll('`', ''))).toEqual([
      text.replaceAll('`', ''),
    ]);
    expect(errorsOf(draft)).toEqual([]);
  });
});

describe('files', () => {
  test('those that the issue names are modified if they exist and added if not', () => {
    const draft = draftScaffold(issueOf('Change `src/teas.js`, add src/last.js and look at test/teas.test.js.'), PATHS);
    expect(filesOf(draft)).toEqual(['Modify src/teas.js', 'Modify test/teas.test.js', 'Add src/last.js']);
  });

  test('a test belongs to every change, beside the tests that are there', () => {
    expect(filesOf(draftScaffold(issueOf('Change `src/teas.js`.'), PATHS))).toEqual([
      'Modify src/teas.js',
      'Modify test/teas.test.js',
    ]);
  });

  test('paths out of the repository, secrets and addresses are left alone', () => {
    const body =
      'See ../other/x.js, /etc/app/x.js, ~/x/y.js, `.env`, config/secrets.json, https://example.com/src/a.js.';
    expect(filesOf(draftScaffold(issueOf(body), PATHS))).toEqual([
      'Add src/remember-last-tea.js',
      'Add test/remember-last-tea.test.js',
    ]);
  });

  test('a path that can not be added is asked about', () => {
    const draft = draftScaffold(issueOf('Put it into src/index.js/last.js and src/teas.js.'), PATHS);
    expect(errorsOf(draft)).toEqual([]);
    expect(openQuestions(draft)).toEqual([
      "The issue names src/index.js/last.js, which can't be listed as it stands: where does it belong?",
    ]);
  });

  test.each([
    [
      ['tea/__init__.py', 'tea/leaf.py', 'tests/test_leaf.py'],
      ['tea/remember_last_tea.py', 'tests/test_remember_last_tea.py'],
    ],
    [
      ['go.mod', 'main.go'],
      ['internal/rememberlasttea/remember_last_tea.go', 'internal/rememberlasttea/remember_last_tea_test.go'],
    ],
    [
      ['src/a.ts', 'src/a.test.ts', 'src/b.ts', 'src/b.test.ts'],
      ['src/remember-last-tea.ts', 'src/remember-last-tea.test.ts'],
    ],
    [
      ['lib/a.rb', 'spec/a_spec.rb'],
      ['lib/remember_last_tea.rb', 'spec/remember_last_tea_spec.rb'],
    ],
    [[], ['src/remember-last-tea.js', 'test/remember-last-tea.test.js']],
  ])('new files follow the layout of %j', (paths, added) => {
    const draft = draftScaffold(issueOf('It keeps the tea.'), paths);
    expect(filesOf(draft)).toEqual(added.map((path) => `Add ${path}`));
    expect(errorsOf(draft, paths)).toEqual([]);
  });
});

describe('any issue', () => {
  const nasty = fc.constantFrom(
    'TBD',
    'TODO: later',
    'retry until it works',
    'manually verify',
    '{{x}}',
    '{{issue id}}',
    '| a | b |',
    '`',
    '```',
    '~~~',
    '<!-- x',
    '<div>',
    '# 1. Context & Goal',
    '## 3. Requirements',
    '## Open Questions',
    '- [ ] ',
    '1. ',
    'REQ-9: x',
    '---',
    '===',
    '> q',
    '\\',
    'src/a.js',
    '../../x.js',
    'while (true) {}',
    'poll the server',
    'waits for the user',
    '\u2028',
    '\u0007',
    '👩‍🔬',
    'مرحبا',
    '\uD800',
    '[x](y)',
    '&amp;',
    '<insert name>',
    '[describe it]',
    'works correctly',
    'lorem ipsum',
    'path/to/file.js',
    'RESOLVED: no',
    '- a\n  - b\n    - c?',
    '\n',
    '\n\n',
    '    ',
  );
  const text = fc
    .array(fc.oneof(nasty, nasty, fc.string({ unit: 'grapheme', maxLength: 30 })), { maxLength: 25 })
    .map((parts) => parts.join(' '));
  const lines = fc.array(fc.oneof(nasty, text), { maxLength: 20 }).map((parts) => parts.join('\n'));

  test('becomes a draft without errors that reads back whole', () => {
    fc.assert(
      fc.property(text, fc.oneof(lines, text), fc.subarray(PATHS), (title, body, paths) => {
        const draft = draftScaffold({ id: '42', title, body, hash: '' }, paths);
        expect(errorsOf(draft, paths)).toEqual([]);
        expect(documentFromReply(draft)).toEqual({ ok: true, text: draft });
      }),
      { numRuns: 100 },
    );
  });

  test('of ten thousand characters too', () => {
    for (const body of [
      'x'.repeat(10_000),
      '- a b\n'.repeat(1700),
      '`|'.repeat(5000),
      'a/'.repeat(5000),
      '> '.repeat(200) + 'x',
    ]) {
      const draft = draftScaffold(issueOf(body), PATHS);
      expect(errorsOf(draft)).toEqual([]);
    }
  });

  test.each(['7', '007', 'add-login', '_a_b_', '-'])('may have the id %s', (id) => {
    expect(errorsOf(draftScaffold({ ...issueOf('It keeps the tea.'), id }, PATHS), PATHS, id)).toEqual([]);
  });

  test('gives the same draft every time', () => {
    const issue = issueOf('- it keeps the tea\n');
    expect(draftScaffold(issue, PATHS)).toBe(draftScaffold(issue, PATHS));
  });
});
