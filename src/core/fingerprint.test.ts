import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createFingerprintMask, fingerprintsOf } from './fingerprint.ts';
import { createMask } from './mask.ts';
import { Secret } from './secret.ts';

test('a fingerprint masks exactly what the secret itself would', () => {
  const secret = fc.stringMatching(/^[a-z0-9-]{8,24}$/);
  fc.assert(
    fc.property(fc.array(secret, { minLength: 1, maxLength: 3 }), fc.array(fc.string()), (secrets, pieces) => {
      const text = pieces.flatMap((piece, index) => [piece, secrets[index % secrets.length] ?? '']).join('');
      const fingerprints: unknown = JSON.parse(JSON.stringify(fingerprintsOf(secrets)));
      const masked = createFingerprintMask(fingerprints as ReturnType<typeof fingerprintsOf>)(text);
      for (const value of secrets) expect(masked).not.toContain(value);
      if (secrets.length === 1) expect(masked).toBe(createMask(secrets.map((value) => new Secret(value)))(text));
    }),
  );
});

test('a fingerprint does not hold the secret', () => {
  expect(JSON.stringify(fingerprintsOf(['sk-ant-0123456789']))).not.toContain('0123456789');
});

test('text without a secret stays as it is', () => {
  const mask = createFingerprintMask(fingerprintsOf(['sk-ant-0123456789']));
  expect(mask('nothing here')).toBe('nothing here');
  expect(mask('')).toBe('');
});
