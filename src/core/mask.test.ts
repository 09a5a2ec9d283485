import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  createFingerprintMask,
  createMask,
  createStreamMask,
  fingerprintsOf,
  MASK,
  maskedForms,
  secretRegions,
} from './mask.ts';
import { Secret } from './secret.ts';

const maskOf = (...secrets: string[]): ((text: string) => string) =>
  createMask(secrets.map((value) => new Secret(value)));

test('a secret is masked as it is, inside JSON and in a URL', () => {
  const url = `https://host/?key=${encodeURIComponent('pa"ss wörd')}`;
  expect(maskOf('pa"ss wörd')(`pa"ss wörd ${JSON.stringify({ key: 'pa"ss wörd' })} ${url}`)).toBe(
    `${MASK} {"key":"${MASK}"} https://host/?key=${MASK}`,
  );
});

const KEY = 'sk-ant-api03-Ab+/9_zzQ~end';

/** What is left of the key in a text, however it was encoded. */
function leaks(text: string): boolean {
  const hex = Buffer.from(KEY).toString('hex');
  const plain = decodeURIComponent(text.replace(/%(?![0-9a-f]{2})/gi, '%25'));
  if (plain.includes(KEY) || text.toLowerCase().includes(hex)) return true;
  // Base64 begins anywhere: each of its four phases is tried.
  const bare = text.replaceAll('-', '+').replaceAll('_', '/');
  return [0, 1, 2, 3].some((phase) => Buffer.from(bare.slice(phase), 'base64').toString('latin1').includes(KEY));
}

test('a secret is masked in base64, hexadecimal and percent form, also as a part of more that was encoded', () => {
  const mask = maskOf(KEY);
  const fingerprintMask = createFingerprintMask(fingerprintsOf([KEY]));
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 5 }), fc.uint8Array({ maxLength: 5 }), (before, after) => {
      const bytes = Buffer.concat([before, Buffer.from(KEY), after]);
      const hex = bytes.toString('hex');
      const percent = Buffer.from(KEY).toString('hex').replace(/../g, '%$&');
      const forms = [bytes.toString('base64'), bytes.toString('base64url'), hex, hex.toUpperCase(), percent];
      for (const form of forms) {
        expect(leaks(form), form).toBe(true);
        for (const one of [mask(form), fingerprintMask(form)]) {
          expect(one).toContain(MASK);
          expect(leaks(one), one).toBe(false);
        }
      }
    }),
  );
});

test('in a stream a secret is hidden however it is cut, and everything else passes, most of it at once', () => {
  const text = `data: {"text":"${KEY}"}\n\ndata: ${Buffer.from(KEY).toString('hex')}\nsk-an sk-ant-api0`;
  const cuts = fc.array(fc.nat(text.length), { maxLength: 8 });
  fc.assert(
    fc.property(cuts, (at) => {
      const shown = createStreamMask(KEY);
      const ends = [...at.toSorted((a, b) => a - b), text.length];
      const pieces = ends.map((end, index) => Buffer.from(text.slice(ends[index - 1] ?? 0, end)));
      const out = Buffer.concat([...pieces.map((piece) => shown.push(piece)), shown.end()]).toString();
      expect(out.replaceAll(/\*+/g, '*')).toBe('data: {"text":"*"}\n\ndata: *\nsk-an sk-ant-api0');
      expect(out).toHaveLength(text.length);
    }),
  );
  const shown = createStreamMask(KEY);
  expect(shown.push(Buffer.from('data: x\n\n')).toString()).toBe('data: x\n\n');
});

test('a short dummy is not maskable, so ordinary words stay', () => {
  expect(maskedForms(['test', '', 'abc', 'a1!'])).toEqual([]);
  expect(maskedForms(['k-12', 'longword'])).toEqual(['longword', 'k-12']);
});

test('a value with half a surrogate pair is no reason to fail', () => {
  expect(maskedForms(['12345678\uD800'])).toContain('12345678\uD800');
});

test('secrets that overlap or contain each other are one region: no end of one is left', () => {
  expect(maskOf('abcd1234', '1234efgh', 'cd12')('--abcd1234efgh--')).toBe(`--${MASK}--`);
  expect(createFingerprintMask(fingerprintsOf(['abcd1234', '1234efgh']))('--abcd1234efgh--')).toBe(`--${MASK}--`);
});

test('what is hidden is exactly what a plain search for each secret finds', () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'b', '1', 'é'), maxLength: 200 });
  const word = fc.string({ unit: fc.constantFrom('a', 'b', '1', 'é'), minLength: 4, maxLength: 12 });
  fc.assert(
    fc.property(fc.array(word, { maxLength: 6 }), text, (secrets, shown) => {
      const expected = new Set<number>();
      for (const form of maskedForms(secrets)) {
        for (let at = 0; at + form.length <= shown.length; at++) {
          if (shown.startsWith(form, at)) for (let n = 0; n < form.length; n++) expected.add(at + n);
        }
      }
      const found = secretRegions(shown, maskedForms(secrets));
      const hidden = found.flatMap(({ start, end }) => Array.from({ length: end - start }, (_, n) => start + n));
      expect(new Set(hidden)).toEqual(expected);
      expect(hidden).toHaveLength(expected.size);
      for (const [n, { start }] of found.entries()) if (n > 0) expect(start).toBeGreaterThan(found[n - 1]?.end ?? 0);
    }),
  );
});

test('a fingerprint masks exactly what the secret itself would', () => {
  const secret = fc.stringMatching(/^[a-z0-9-]{8,24}$/);
  fc.assert(
    fc.property(fc.array(secret, { minLength: 1, maxLength: 3 }), fc.array(fc.string()), (secrets, pieces) => {
      const text = pieces.flatMap((piece, index) => [piece, secrets[index % secrets.length] ?? '']).join('');
      const fingerprints: unknown = JSON.parse(JSON.stringify(fingerprintsOf(secrets)));
      const masked = createFingerprintMask(fingerprints as ReturnType<typeof fingerprintsOf>)(text);
      expect(masked).toBe(maskOf(...secrets)(text));
    }),
  );
});

test('a fingerprint does not hold the secret', () => {
  expect(JSON.stringify(fingerprintsOf(['sk-ant-0123456789']))).not.toContain('0123456789');
});

test('text without a secret stays as it is', () => {
  for (const mask of [maskOf('sk-ant-0123456789'), createFingerprintMask(fingerprintsOf(['sk-ant-0123456789']))]) {
    expect(mask('nothing here')).toBe('nothing here');
    expect(mask('')).toBe('');
  }
});
