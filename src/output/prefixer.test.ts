import { PassThrough, Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { MASK } from '../core/mask.ts';
import { OutputPrefixer, type OutputPrefixerOptions } from './prefixer.ts';

const RED = '\u001B[31m';
const RESET = '\u001B[0m';
const SECRET = 'sk-abc-123';

/** What the target shows of one stream that arrives in these chunks. */
async function shown(chunks: (string | Buffer)[], options: Partial<OutputPrefixerOptions> = {}): Promise<string> {
  const written: Buffer[] = [];
  const prefixer = new OutputPrefixer({ write: (chunk) => void written.push(chunk), colour: false, ...options });
  await prefixer.attach('X', Readable.from(chunks.map((chunk) => Buffer.from(chunk))), null).done;
  return Buffer.concat(written).toString();
}

/** Without the prefix, which is in colour too. */
async function shownInColour(text: string, options: Partial<OutputPrefixerOptions> = {}): Promise<string> {
  return (await shown([text], { colour: true, ...options })).replaceAll(/\u001B\[\d+m\[X\]\u001B\[0m /g, '');
}

test.each<[string, (string | Buffer)[], string]>([
  ['each line has the prefix, one space, then the line', ['one\ntwo\n'], '[X] one\n[X] two\n'],
  ['an empty line is kept', ['a\n\n\nb\n'], '[X] a\n[X] \n[X] \n[X] b\n'],
  ['a last line without a line feed gets one', ['a\nb'], '[X] a\n[X] b\n'],
  ['no output is no line', [], ''],
  ['CRLF is a line feed', ['a\r\n\r\nb\r', '\nc'], '[X] a\n[X] \n[X] b\n[X] c\n'],
  ['of a progress display the last state is shown', ['10%\r20%\r', '30%\ndone\n'], '[X] 30%\n[X] done\n'],
  ['a carriage return at the end does not hide the state before it', ['10%\r20%\r\r'], '[X] 20%\n'],
  ['a character may be split between chunks', [Buffer.of(0xe2, 0x82), Buffer.of(0xac, 0x0a)], '[X] €\n'],
  ['what is not UTF-8 becomes U+FFFD', [Buffer.of(0x61, 0xff, 0x62, 0xe2, 0x82, 0x0a)], '[X] a\uFFFDb\uFFFD\n'],
  ['half a character at the end of a line is one U+FFFD', [Buffer.of(0x61, 0xc2, 0x0a)], '[X] a\uFFFD\n'],
  ['NUL and other control characters are dropped', ['a\0b\u0007c\bd\u007Fe\tf\n'], '[X] abcde\tf\n'],
  ['colour is stripped', [`${RED}red${RESET} \u001B[`, '1', 'mbold\n'], '[X] red bold\n'],
  ['cursor and screen are left alone', ['\u001B[2J\u001B[1;1Ha\u001B[1A\u001B[2Kb\u001B7c\u001B(Bd\n'], '[X] abcd\n'],
  ['8-bit control sequences are sequences too', ['a\u009B2Jb\u0085c\u009D0;title\u0007d «é»\n'], '[X] abcd «é»\n'],
  ['a title that is cancelled hides nothing after it', ['a\u001B]0;t\u0018b\n'], '[X] ab\n'],
  ['titles and links are dropped', ['\u001B]0;title\u0007a\u001B]8;;http://x\u001B\\b\n'], '[X] ab\n'],
  [
    'a sequence that never ends does not swallow the next line',
    ['a\u001B]0;title\nb\u001B[3\nc\u001B\n'],
    '[X] a\n[X] b\n[X] c\n',
  ],
  ['a last reset of the colour alone is not a line', [`a\n${RESET}`], '[X] a\n'],
])('%s', async (_, chunks, expected) => {
  expect(await shown(chunks)).toBe(expected);
});

test('colour is kept on a target that shows it, and ends with the line', async () => {
  expect(await shownInColour(`${RED}a\nb${RESET}\n\u001B[1;31mc\u001B[2K\n`)).toBe(
    `${RED}a${RESET}\nb${RESET}\n\u001B[1;31mc${RESET}\n`,
  );
});

test('only the last state of a coloured progress display is shown', async () => {
  expect(await shownInColour(`${RED}10%\r\u001B[32m20%${RESET}\n`)).toBe(`\u001B[32m20%${RESET}\n`);
});

test('the last state of a very long progress display is shown complete', async () => {
  const states = Array.from({ length: 1_000 }, (_, n) => `\r\u001B[K${n} of 999`);
  expect(await shown([states.join(''), '\r\u001B[K\n'], { maxLineBytes: 16 })).toBe('[X] 999 of 999\n');
});

test('a label can’t break the line or contain control characters', async () => {
  const written: Buffer[] = [];
  new OutputPrefixer({ write: (chunk) => void written.push(chunk), colour: false }).line('A\n\u001B[2J$&', 'text');
  expect(Buffer.concat(written).toString()).toBe('[A $&] text\n');
});

test('a line of our own is cleaned and masked too; a text with several lines is split', () => {
  const written: Buffer[] = [];
  const prefixer = new OutputPrefixer({ write: (chunk) => void written.push(chunk), colour: false, mask: [SECRET] });
  prefixer.line('COORDINATOR', `${RED}a ${SECRET}\nb\n`);
  prefixer.line('COORDINATOR', '');
  expect(Buffer.concat(written).toString()).toBe(`[COORDINATOR] a ${MASK}\n[COORDINATOR] b\n[COORDINATOR] \n`);
});

test('a secret that is split between chunks is masked', async () => {
  const text = Buffer.from(`a ${SECRET} b\n`);
  for (let first = 0; first <= text.length; first++) {
    for (let second = first; second <= text.length; second++) {
      const chunks = [text.subarray(0, first), text.subarray(first, second), text.subarray(second)];
      expect(await shown(chunks, { mask: [SECRET] })).toBe(`[X] a ${MASK} b\n`);
    }
  }
});

test('a secret is masked in JSON, in a URL, and when it is coloured in the middle', async () => {
  const mask = ['p"ä ss-1'];
  expect(await shown(['{"k":"p\\"ä ss-1"} p%22%C3%A4%20ss-1\n'], { mask })).toBe(`[X] {"k":"${MASK}"} ${MASK}\n`);
  expect(await shown([`a\nx${RED}sk-${RESET}abc-123y\nb\n`], { mask: [SECRET] })).toBe(`[X] a\n[X] x${MASK}y\n[X] b\n`);
  expect(await shownInColour(`x${RED}sk-${RESET}abc\u0000-123y\n`, { mask: [SECRET] })).toBe(
    `x${RED}${MASK}${RESET}y\n`,
  );
});

test('a long line is cut, and says how much is missing', async () => {
  expect(await shown(['0123456789', 'abc\nnext\n'], { maxLineBytes: 8 })).toBe(
    '[X] 01234567 … [5 bytes cut]\n[X] next\n',
  );
  expect(await shown(['01234567\n'], { maxLineBytes: 8 })).toBe('[X] 01234567\n');
  expect(await shown(['1234567€x\n'], { maxLineBytes: 8 })).toBe('[X] 1234567 … [4 bytes cut]\n');
  expect(await shownInColour(`1234${RED}56789${RESET}\n`, { maxLineBytes: 8 })).toBe(
    `1234${RED}5678${RESET} … [1 bytes cut]\n`,
  );
});

test('a line that is cut never shows a part of a secret', async () => {
  for (let before = 0; before < 20; before++) {
    const line = `${'x'.repeat(before)}${SECRET}yyyy`;
    const output = await shown([line.slice(0, 12), `${line.slice(12)}\n`], { maxLineBytes: 12, mask: [SECRET] });
    expect(output).not.toMatch(/sk|abc|123$/);
    expect(output).toMatch(before < 12 ? /^\[X\] x*\*{8}/ : /^\[X\] x{12} …/);
  }
});

test('a line without an end does not fill the memory', () => {
  const piece = Buffer.alloc(1024 * 1024, 'x');
  const written: Buffer[] = [];
  const prefixer = new OutputPrefixer({ write: (chunk) => void written.push(chunk), colour: false });
  const stream = new PassThrough();
  prefixer.attach('X', stream, null);
  const before = process.memoryUsage().arrayBuffers;
  for (let n = 0; n < 256; n++) stream.emit('data', piece);
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(4 * piece.length);
  stream.emit('data', Buffer.from('\n'));
  const cut = 256 * piece.length - 64 * 1024;
  expect(Buffer.concat(written).toString()).toBe(`[X] ${'x'.repeat(64 * 1024)} … [${cut} bytes cut]\n`);
});

test('an unfinished line of one child does not delay or mix with lines of others', async () => {
  const written: string[] = [];
  const prefixer = new OutputPrefixer({ write: (chunk) => void written.push(chunk.toString()), colour: false });
  const slow = new PassThrough();
  const slowDone = prefixer.attach('slow', slow, null).done;
  slow.write('begin');
  await prefixer.attach('fast', Readable.from([Buffer.from('a\n'), Buffer.from('b')]), null).done;
  expect(written.join('')).toBe('[fast] a\n[fast] b\n');
  slow.end(' end');
  await slowDone;
  expect(written.at(-1)).toBe('[slow] begin end\n');
});

test('all whole lines of a chunk are one write', async () => {
  const written: Buffer[] = [];
  await shown(['a\nb\n\u001B[1mc\nd', 'e\nf\n'], { write: (chunk) => void written.push(chunk) });
  expect(written.map(String)).toEqual(['[X] a\n[X] b\n[X] c\n', '[X] de\n[X] f\n']);
});

test('onLine gets every line, masked and without colour', async () => {
  const lines: string[] = [];
  const write = (): void => undefined;
  const onLine = (label: string, stream: string, line: string): void => void lines.push(`${label} ${stream} ${line}`);
  const prefixer = new OutputPrefixer({ write, colour: true, mask: [SECRET], onLine });
  const stdout = Readable.from([Buffer.from(`ä\n\n${RED}${SECRET}\nlast`)]);
  await prefixer.attach('X', stdout, null).done;
  await prefixer.attach('Y', null, Readable.from([Buffer.from('err\n')])).done;
  expect(lines).toEqual(['X stdout ä', 'X stdout ', `X stdout ${MASK}`, 'X stdout last', 'Y stderr err']);
});

test('onLine gets the same lines if the target shows no colour', async () => {
  const lines: string[] = [];
  const onLine = (_label: string, _stream: string, line: string): void => void lines.push(line);
  await shown([`ä\r\n${RED}red${RESET}\n\nhalf`, ` and ${SECRET}\nlast`], { mask: [SECRET], onLine });
  expect(lines).toEqual(['ä', 'red', '', `half and ${MASK}`, 'last']);
});

test('a stream that fails or closes early ends the attachment; its output is shown', async () => {
  const written: string[] = [];
  const prefixer = new OutputPrefixer({ write: (chunk) => void written.push(chunk.toString()), colour: false });
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const { done } = prefixer.attach('X', stdout, stderr);
  stdout.write('half');
  stderr.write('other');
  await new Promise(setImmediate);
  stdout.destroy(new Error('broken'));
  stderr.destroy();
  await done;
  expect(written).toEqual(['[X] half\n', '[X] other\n']);
  await prefixer.attach('X', stdout, null).done;
});

test('after detach nothing more is shown, and the stream still flows', async () => {
  const written: string[] = [];
  const prefixer = new OutputPrefixer({ write: (chunk) => void written.push(chunk.toString()), colour: false });
  const stdout = new PassThrough({ highWaterMark: 4 });
  const attachment = prefixer.attach('X', stdout, null);
  stdout.write('a\nhalf');
  await new Promise(setImmediate);
  attachment.detach();
  await attachment.done;
  const drained = new Promise((resolve) => stdout.once('drain', resolve));
  expect(stdout.write('much more than the stream can hold\n')).toBe(false);
  await drained;
  expect(written).toEqual(['[X] a\n', '[X] half\n']);
});
