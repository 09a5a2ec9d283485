import { createHash, generateKeyPairSync, randomBytes, sign, X509Certificate } from 'node:crypto';

/** A certificate and its private key, as PEM. */
export interface TlsPair {
  certificate: string;
  key: string;
}

const YEARS = 20;

/*
 * Node can read certificates but not create them, and the libraries that can are larger than the hub. Ours holds only a name and a key:
 * machines compare the whole certificate with the copy in the database and read nothing else in it. The structure is that of RFC 5280, in
 * DER: a tag, a length, a value.
 */

/** Creates a key on P-256 and a self-signed certificate for it. */
export function createCertificate(name: string, now: Date): TlsPair {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const until = new Date(now);
  until.setUTCFullYear(now.getUTCFullYear() + YEARS);
  const subject = sequence(set(sequence(objectId(OIDS.commonName), der(0x0c, Buffer.from(name)))));
  const signedWith = sequence(objectId(OIDS.ecdsaWithSha256));
  const body = sequence(
    // Version 3.
    der(0xa0, der(0x02, Buffer.from([2]))),
    // The leading zero byte keeps the number positive.
    der(0x02, Buffer.concat([Buffer.from([1]), randomBytes(15)])),
    signedWith,
    subject,
    sequence(time(now), time(until)),
    subject,
    publicKey.export({ type: 'spki', format: 'der' }),
  );
  const signature = sign('sha256', body, privateKey);
  const whole = sequence(body, signedWith, der(0x03, Buffer.concat([Buffer.from([0]), signature])));
  const lines = whole.toString('base64').match(/.{1,64}/g) ?? [];
  return {
    certificate: ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n'),
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
}

/** SHA-256 of the certificate, in the form that browsers and openssl show. */
export function fingerprintOf(certificate: string): string {
  return new X509Certificate(certificate).fingerprint256;
}

export function hashOfToken(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}

const OIDS = {
  commonName: [0x55, 0x04, 0x03],
  ecdsaWithSha256: [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02],
};

function der(tag: number, value: Buffer): Buffer {
  const { length } = value;
  const bytes = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...bytes]), value]);
}

function sequence(...parts: Buffer[]): Buffer {
  return der(0x30, Buffer.concat(parts));
}

function set(...parts: Buffer[]): Buffer {
  return der(0x31, Buffer.concat(parts));
}

function objectId(bytes: readonly number[]): Buffer {
  return der(0x06, Buffer.from(bytes));
}

/** The year has two digits until 2049, and four after that. */
function time(date: Date): Buffer {
  const digits = date.toISOString().replace(/[-:T]|\.\d+/g, '');
  const isShort = date.getUTCFullYear() < 2050;
  return der(isShort ? 0x17 : 0x18, Buffer.from(isShort ? digits.slice(2) : digits));
}
