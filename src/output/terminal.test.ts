import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { shownJson } from '../core/json.ts';
import { oneLine } from '../core/lines.ts';
import { createTerminal, paint, printable, wantsLiveRegion } from './terminal.ts';

const HOSTILE = 'a\u001B[2J\u001B]0;title\u0007\u009B31m\u202Eb\u2066c\u2069\u200F\u061C\uFEFF\u{E0041}\u0008d';

test('nothing that moves the cursor or changes the direction of text is printed', () => {
  expect(printable(`${HOSTILE}\n\té ‍ 👩‍💻`)).toBe('abcd\n\té ‍ 👩‍💻');
  expect(oneLine(`${HOSTILE}\u2028e\r\nf`)).toBe('abc d e f');
});

test('a line of ours keeps its colours, and the text in it is cleaned', () => {
  const stream = new PassThrough();
  const terminal = createTerminal((text) => text, stream, { FORCE_COLOR: '1' });
  terminal.line(`${paint(terminal, 'red', HOSTILE)} ${HOSTILE}`);
  expect(String(stream.read())).toBe('\u001B[31mabcd\u001B[0m abcd\n');
});

test('JSON for a terminal is the same JSON, with invisible characters escaped', () => {
  const text = shownJson({ title: HOSTILE });
  expect(text).not.toMatch(/[\u007F-\u009F\u202E\u2066\u{E0041}]/u);
  expect(JSON.parse(text)).toEqual({ title: HOSTILE });
});

test('a live region is for a terminal, not for a pipe, a dumb terminal or CI, and not with --quiet', () => {
  const stream = Object.assign(new PassThrough(), { isTTY: true });
  expect(wantsLiveRegion(stream, { TERM: 'xterm' })).toBe(true);
  expect(wantsLiveRegion(stream, { TERM: 'xterm', CI: 'false', NO_COLOR: '1' })).toBe(true);
  expect(wantsLiveRegion(new PassThrough(), {})).toBe(false);
  expect(wantsLiveRegion(stream, { TERM: 'dumb' })).toBe(false);
  expect(wantsLiveRegion(stream, { CI: 'true' })).toBe(false);
  expect(wantsLiveRegion(stream, {}, true)).toBe(false);
});
