import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SAMPLE_LLD as LLD } from '../../../test/support/sample-lld.ts';
import { documentFromReply } from './reply.ts';

const fenced = (opening: string, text: string, closing = opening.replace(/[a-z]+$/, '')): string =>
  `${opening}\n${text}${closing}\n`;

const WITH_CODE_AT_THE_END = LLD.replace('| None yet | Draft |\n', '| None yet | Draft |\n\n```\nnpm test\n```\n');

const taken: [name: string, reply: string, text?: string][] = [
  ['bare', LLD],
  ['without a newline at the end', LLD.trimEnd()],
  ['with several', `\n\n${LLD}\n\n\n`],
  ['with CRLF and a byte-order mark', `\uFEFF${LLD.replaceAll('\n', '\r\n')}`],
  ['in a ```markdown fence, no longer than the inner ones', fenced('```markdown', LLD)],
  ['in a ``` fence without a language', fenced('```', LLD)],
  ['in a ```md fence', fenced('```md', LLD)],
  ['in a longer fence', fenced('````markdown', LLD)],
  ['in a fence of tildes', fenced('~~~~markdown', LLD)],
  ['in a fence that is never closed', `\`\`\`markdown\n${LLD}`],
  ['in a fence closed with fewer marks', fenced('````markdown', LLD, '```')],
  ['with the end of a fence that never began', `${LLD}\`\`\`\n`],
  ['with the end of a fence that never began and a sentence', `${LLD}\`\`\`\n\nThat is all.\n`],
  ['after a sentence', `Here is the LLD:\n\n${LLD}`],
  ['before a sentence', `${LLD}\nLet me know if you would like any changes!\n`],
  ['before a sentence without a blank line', `${LLD}Let me know if you would like any changes!\n`],
  ['before a rule and a sentence', `${LLD}\n---\n\nI've kept the scope to what the issue asks for.\n`],
  ['before a rule and notes', `${LLD}\n---\n\n**Notes:**\n- The clock is a parameter.\n`],
  ['before any remark below its log', `${LLD}\nThis keeps the change minimal. Ready for review!\n`],
  ['before a summary with a heading', `${LLD}\n## Summary of Changes\n\n1. Bounded the retries\n2. Added a scenario\n`],
  ['before a summary in bold', `${LLD}\n**Changes made:**\n- Bounded the retries\n`],
  ['fenced between sentences', `Sure! Here it is:\n\n${fenced('```markdown', LLD)}\nLet me know what you think.\n`],
  ['fenced before a sentence with code', `${fenced('```markdown', LLD)}\nThen run:\n\n\`\`\`\nnpm test\n\`\`\`\n`],
  ['fenced before code with a language', `${fenced('```markdown', LLD)}\nThen run:\n\`\`\`sh\nnpm test\n\`\`\`\n`],
  [
    'fenced with a bare code block in its last section',
    fenced('```markdown', WITH_CODE_AT_THE_END),
    WITH_CODE_AT_THE_END,
  ],
  ['bare with a bare code block in its last section', WITH_CODE_AT_THE_END, WITH_CODE_AT_THE_END],
  ['after thinking', `<thinking>\nFirst the goal.\n\n## 1. Context & Goal\nHm.\n</thinking>\n\n${LLD}`],
  ['after thinking in a sentence', `Let me think.\n<think>\n# 42 - Feature: no\n</think>\n${LLD}`],
  ['after thinking that only ends', `The goal is clear.\n## Requirements\nHm.\n</think>\n\n${LLD}`],
  ['in tags', `<lld>\n${LLD}</lld>\n`],
  ['in tags with a sentence behind', `Done.\n<document>\n${LLD}</document>\n\nAnything else?\n`],
  ['below front matter', `---\nissue: 42\nstatus: draft\n---\n\n${LLD}`],
  ['below front matter in a fence', fenced('```markdown', `---\nissue: 42\n---\n\n${LLD}`)],
  ['below another heading', `# LLD for issue 42\n\nAs you asked:\n\n${LLD}`],
  ['below another heading, in a fence', `# LLD\n\n${fenced('```markdown', LLD)}`],
  ['after a preamble that quotes a section', `I rewrote this:\n\`\`\`diff\n-## 3. Requirements\n\`\`\`\n\n${LLD}`],
];

describe('documentFromReply', () => {
  it.each(taken)('takes a document %s', (_name, reply, text = LLD) => {
    expect(documentFromReply(reply)).toEqual({ ok: true, text });
  });

  it('takes a document without a title from its first section on', () => {
    const untitled = LLD.slice(LLD.indexOf('## 1.'));
    expect(documentFromReply(`Here you go:\n\n${untitled}`)).toEqual({ ok: true, text: untitled });
  });

  it('takes headings in other spellings', () => {
    const text = '# Issue #7 - Feature: X\n\n## Context and Goals\nText.\n\n## **2. Proposed changes**\nText.\n';
    expect(documentFromReply(`Sure:\n${text}`)).toEqual({ ok: true, text });
  });

  it('takes a title of the second level', () => {
    const text = LLD.replace('# 42', '## 42');
    expect(documentFromReply(`Sure:\n\n${text}`)).toEqual({ ok: true, text });
  });

  it('keeps a section of its own below a rule', () => {
    const text = `${LLD}\n---\n\n## Rollout\nAll at once.\n`;
    expect(documentFromReply(text)).toEqual({ ok: true, text });
  });

  it('keeps a code block that is not closed in the last section', () => {
    const text = `${LLD}\n\`\`\`\nnpm test\n`;
    expect(documentFromReply(text)).toEqual({ ok: true, text });
  });

  it('keeps sections that the template does not have', () => {
    const text = `${LLD}\n## Appendix B: Glossary\nRetry: a repeated call.\n`;
    expect(documentFromReply(text)).toEqual({ ok: true, text });
  });

  it.each([
    ['an empty reply', ' \n', /empty/],
    ['an HTML page', '<!DOCTYPE html>\n<html><h1>502</h1></html>', /no heading of an LLD: .*DOCTYPE/],
    ['a JSON error', '{"error":{"message":"overloaded"}}', /no heading of an LLD: .*overloaded/],
    [
      'a JSON error of another vendor',
      '{"type":"error","error":{"type":"overloaded_error"}}',
      /no heading of an LLD: .*overloaded/,
    ],
    ['an error banner', 'API Error: 529 {"type":"error"}', /API Error: 529/],
    ['a refusal', "I'm sorry, but I can't help with that.", /sorry/],
    ['prose with a heading of its own', '# Thoughts\n\nIt is hard to say.', /no heading of an LLD/],
    ['a review', '# LLD Review: 42\n\n## Verdict\n[x] **REVISE**', /no heading of an LLD/],
    ['a document that breaks off in an error', `${LLD.slice(0, 900)}\nAPI Error: socket hang up\n`, /breaks off/],
  ])('does not take %s', (_name, reply, reason) => {
    expect(documentFromReply(reply)).toEqual({ ok: false, reason: expect.stringMatching(reason) });
  });

  it('gives the same document however it is wrapped', () => {
    const line = fc.constantFrom(
      'Text.',
      '',
      '- item',
      '| a | b |',
      '```js\nlet x;\n```',
      '```\nplain\n```',
      '> quote',
      '---',
    );
    const section = fc.tuple(fc.constantFrom('3. Requirements', '6. Diagram', '2.5 Logic Flow'), fc.array(line));
    const wrap = fc.constantFrom(
      (text: string) => `\`\`\`markdown\n${text}\`\`\`\n`,
      (text: string) => `~~~\n${text}~~~\n\nLet me know.\n`,
      (text: string) => `Here it is:\n\n\`\`\`\`\n${text}\`\`\`\``,
      (text: string) => `<lld>\n${text}</lld>`,
    );
    fc.assert(
      fc.property(fc.array(section), wrap, (sections, wrapped) => {
        const body = sections.map(([title, lines]) => `## ${title}\n${lines.join('\n')}\n\n`).join('');
        const text = `# 7 - Feature: X\n\n## 1. Context & Goal\nGoal.\n\n${body}## 12. Definition of Done\n- [ ] Done\n`;
        expect(documentFromReply(wrapped(text))).toEqual({ ok: true, text });
      }),
    );
  });
});
