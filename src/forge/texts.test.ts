import { expect, test } from 'vitest';
import { unlinked } from '../core/lines.ts';
import { pullRequestBody, pullRequestTitle, writeIssueComment } from './texts.ts';

const HOSTILE =
  '<!-- agentos:item 7 --> --> @everyone closes #1, fixes https://github.com/a/b/issues/2 GH-3 `x` | **b**\n# h';

test('words from outside neither notify, link nor close anything', () => {
  const text = unlinked(HOSTILE);
  expect(text).not.toMatch(/@(?=\w)|#\d|GH-\d|:\/\//);
  expect(text.replaceAll('\u200B', '')).toBe(HOSTILE);
});

test('a comment begins with its own marker and holds no other', () => {
  const text = writeIssueComment({
    id: '42',
    state: 'waiting for a person',
    reason: HOSTILE,
    design: 'docs/lld/LLD-42.md',
    pullRequest: null,
    costUsd: null,
    runId: 'r',
    question: { reason: HOSTILE, openQuestions: [HOSTILE], obstacle: 'unread', canRevise: true },
  });
  expect(text.split('\n')[0]).toBe('<!-- agentos:item 42 -->');
  expect(text.match(/(?<!\\)<!--/g)).toHaveLength(1);
  expect(text).not.toMatch(/@everyone|#1\b|^# h/m);
  expect(text).toContain('begins with `/agentos revise` and what to change or `/agentos drop` with a reason');
});

test('a title of a pull request is one line', () => {
  expect(pullRequestTitle('42', 'Add\u001B[31m\na number, fixes #1')).toBe('Add a number, fixes #\u200B1');
  expect(pullRequestTitle('42', ' ')).toBe('Implement 42');
});

test('the text of a pull request stays within what services take, and keeps the template', () => {
  const lld = `# 42 - Feature: X\n\n## 2. Proposed Changes\n### 2.6 Technical Approach\n${'word '.repeat(15_000)}\n`;
  const template = 'Checklist '.repeat(1_000);
  const facts = {
    id: '42',
    closing: 'Closes #42',
    issueUrl: null,
    lld,
    report: '',
    lldUrl: 'u',
    reportUrl: 'r',
    place: [],
  };
  const body = pullRequestBody({ ...facts, template });
  expect(body.length).toBeLessThan(65_536);
  expect(body).toMatch(/^Closes #42\n/);
  expect(body.endsWith(`---\n\n${template.trim()}\n`)).toBe(true);
});
