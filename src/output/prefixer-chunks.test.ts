import { isUtf8 } from 'node:buffer';
import { Readable } from 'node:stream';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { MASK } from '../core/mask.ts';
import { OutputPrefixer } from './prefixer.ts';

const SECRETS = ['sk-abc-123', 'hünter-2'];

interface Piece {
  readonly bytes: Buffer;
  /** What is left of it on a target without colour; null for a carriage return. */
  readonly plain: string | null;
}

const piece = (text: string | Buffer, plain: string | null): Piece => ({ bytes: Buffer.from(text), plain });
const same = (text: string): Piece => piece(text, text);

const PIECES: Piece[] = [
  ...[
    'a',
    ' ',
    '\t',
    '$&',
    '€',
    '«',
    '😀',
    'sk-',
    'a line of some length, without anything in it',
    '\n',
    '\n',
    '\n',
  ].map(same),
  ...SECRETS.map((secret) => piece(secret, secret)),
  ...['\u001B[31m', '\u001B[0m', '\u001B[m', '\u001B[2K', '\u001B[38;5;1:2m', '\u001B[>4m'].map((code) =>
    piece(code, ''),
  ),
  ...['\u001B]0;ti\u001B\\', '\u001BPx\u0007', '\u001B(B', '\u001B=', '\u0000', '\u0008', '\u007F'].map((code) =>
    piece(code, ''),
  ),
  ...['\u009B1m', '\u009D0;x\u0007', '\u0085'].map((code) => piece(code, '')),
  piece('\r', null),
  piece('\r', null),
  piece(Buffer.of(0xff), '\uFFFD'),
];

// Few kinds in most texts: one byte that is not UTF-8 would send all the others the same, careful way.
const pieces = fc
  .subarray(PIECES, { minLength: 1 })
  .chain((kinds) => fc.array(fc.constantFrom(same('\n'), ...kinds), { maxLength: 60 }));
const cuts = fc.array(fc.nat(400), { maxLength: 30 });

function cut(bytes: Buffer, at: readonly number[]): Buffer[] {
  const offsets = [0, ...at.filter((offset) => offset < bytes.length).sort((a, b) => a - b), bytes.length];
  return offsets.slice(1).map((end, n) => bytes.subarray(offsets[n], end));
}

async function shown(chunks: Buffer[], colour: boolean, maxLineBytes?: number): Promise<string> {
  const written: Buffer[] = [];
  const bound = maxLineBytes === undefined ? {} : { maxLineBytes };
  const write = (chunk: Buffer): void => void written.push(chunk);
  const prefixer = new OutputPrefixer({ write, colour, mask: SECRETS, ...bound });
  await prefixer.attach('X', Readable.from(chunks), null).done;
  const output = Buffer.concat(written);
  expect(isUtf8(output)).toBe(true);
  return output.toString();
}

/** The same rules on whole pieces, without bytes, chunks or bounds. */
function expectedOf(all: readonly Piece[]): string {
  const lines: (string | null)[][] = [[]];
  for (const { plain } of all) {
    if (plain === '\n') lines.push([]);
    else lines.at(-1)?.push(plain);
  }
  const texts = lines.map((line) => {
    const states = line
      .map((part) => part ?? '\r')
      .join('')
      .split('\r');
    return (states.findLast((state) => state !== '') ?? '').replace(new RegExp(`(?:${SECRETS.join('|')})+`, 'g'), MASK);
  });
  if (texts.at(-1) === '') texts.pop();
  return texts.map((text) => `[X] ${text}\n`).join('');
}

test('for any input in any chunks, lines are complete, clean and masked', async () => {
  await fc.assert(
    fc.asyncProperty(pieces, cuts, async (all, at) => {
      const bytes = Buffer.concat(all.map((part) => part.bytes));
      expect(await shown(cut(bytes, at), false)).toBe(expectedOf(all));
    }),
    { numRuns: 500, examples: [[[same('sk-'), piece('\u007F', ''), same('\n')], []]] },
  );
});

test('the same bytes in other chunks give the same output', async () => {
  const anything = fc.oneof(
    pieces.map((all) => Buffer.concat(all.map((part) => part.bytes))),
    fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
  );
  await fc.assert(
    fc.asyncProperty(
      anything,
      cuts,
      fc.boolean(),
      fc.integer({ min: 1, max: 40 }),
      async (bytes, at, colour, bound) => {
        const whole = await shown([bytes], colour, bound);
        expect(await shown(cut(bytes, at), colour, bound)).toBe(whole);
        expect(await shown(cut(bytes, [...bytes.keys()]), colour, bound)).toBe(whole);
      },
    ),
    { numRuns: 500 },
  );
});

test('no secret and no sequence except colour gets through', async () => {
  await fc.assert(
    fc.asyncProperty(pieces, cuts, fc.integer({ min: 1, max: 60 }), async (all, at, bound) => {
      const output = await shown(cut(Buffer.concat(all.map((part) => part.bytes)), at), true, bound);
      // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
      const text = output.replace(/\u001B\[[\d;:]*m/g, '');
      for (const secret of SECRETS) expect(text).not.toContain(secret);
      expect(text.replace(/[\n\t]/g, '')).not.toMatch(/\p{Cc}/u);
    }),
    { numRuns: 500 },
  );
});
