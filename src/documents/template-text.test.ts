import { describe, expect, test } from 'vitest';
import { edited, LLD_42, withSection } from '../../test/fixtures/lld/lld-42.ts';
import { checkLld } from './lld/checks.ts';
import template from './lld-template.md';

function found(text: string) {
  return checkLld(text, { issueId: '42' }).findings.map(({ rule, severity }) => `${severity} ${rule}`);
}

const inApproach = (text: string) => found(withSection('### 2.6 Technical Approach', text));

describe('text that a template left over is an error', () => {
  test.each([
    '{{approach}}',
    'The module {{name}} is pure.',
    '<description>',
    '<Describe the approach here>',
    'Uses <insert module name> for it.',
    '* **Pattern:** <pattern name>',
    '[Describe the approach]',
    'The module is [describe module].',
    '* **Pattern:** [TBD]',
    'TBD',
    '**TBD**',
    'TODO',
    '- TODO',
    '- [ ] TBD',
    '* **Pattern:** TBD',
    'TODO: describe it',
    'To be determined.',
    'Lorem ipsum dolor sit amet.',
    '| Key | Value |\n|---|---|\n| Pattern | TBD |',
    '| Key | Value |\n|---|---|\n| Pattern | <value> |',
  ])('%s', (text) => {
    expect(inApproach(text)).toEqual(['error template-text']);
  });

  test('in the title', () => {
    expect(found(edited('Sample change 42', '{{title}}'))).toEqual(['error template-text']);
  });

  test('a path of no repository', () => {
    expect(found(edited('`src/item-42.js` | Add', '`path/to/file.js` | Add'))).toEqual(['error template-text']);
  });

  test('a placeholder of our own template, even in code', () => {
    const code = /```\n(\{\{[^}]+\}\})\n```/.exec(template)?.[1] ?? '';
    expect(code).not.toBe('');
    expect(inApproach(`\`\`\`\n${code}\n\`\`\``)).toEqual(['error template-text']);
  });

  test('a hint of our own template: a warning as a comment, an error as text', () => {
    const hint = /<!--\s*(Numbered steps[\s\S]*?)\s*-->/.exec(template)?.[1] ?? '';
    expect(hint).not.toBe('');
    expect(inApproach(`A pure function.\n\n<!-- ${hint} -->`)).toEqual(['warning template-text']);
    expect(inApproach(hint)).toEqual(['error template-text']);
  });
});

test('a row that is marked as to do is only a warning', () => {
  const row = (state: string) =>
    inApproach(`| Concern | Mitigation | Status |\n|---|---|---|\n| Leaks | Mask keys | ${state} |`);
  expect([row('TODO'), row('TODO (follow-up)'), row('Addressed')]).toEqual([
    ['warning template-text'],
    ['warning template-text'],
    [],
  ]);
});

describe('look-alikes are no template text', () => {
  test.each([
    'Returns `Map<string, number>`.',
    'Returns Map<string> and Promise<void>.',
    'The type parameter <T> is kept.',
    'Run `agentos lld <id>`.',
    'Run agentos lld <id> to begin.',
    'First line.<br>Second line.',
    '<details><summary>More</summary>text</details>',
    'Renders `{{ name }}` with the template engine.',
    '```vue\n<p>{{ name }}</p>\n```',
    '```mermaid\nflowchart LR\n  A{{hexagon}} --> B\n```',
    '<!-- a note of the author -->\nA pure function.',
    'See [the guide](docs/guide.md) and [describe()](https://example.org).',
    'Todo items are listed by `todo ls`.',
    '| Status | Meaning |\n|---|---|\n| todo | not begun |',
    'The linter removes TODO comments.',
    'The array [1, 2, 3] is kept.',
    'Click [Add] to add a row.',
    'Text for the reader: none.',
    'The date has the form YYYY-MM-DD.',
    'A <title> element is set.',
  ])('%s', (text) => {
    expect(inApproach(text)).toEqual([]);
  });

  test('what the review log cites', () => {
    expect(found(edited('| None yet | Draft |', '| "TBD" in section 2 | Fixed |\n| TBD | {{x}} |'))).toEqual([]);
  });
});

test('our template itself is full of it, and names every section', () => {
  const rules = new Set(found(template));
  expect(rules).toContain('error template-text');
  expect(rules).not.toContain('error section-missing');
  expect(found(LLD_42)).toEqual([]);
});
