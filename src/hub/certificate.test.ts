import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { connect, createServer } from 'node:tls';
import { expect, test } from 'vitest';
import { createCertificate, fingerprintOf } from './certificate.ts';

test.each(['2026-11-20T12:34:56Z', '2049-06-01T00:00:00Z'])(
  'a certificate made at %s is one that TLS accepts, and only it',
  async (at) => {
    const { certificate } = createCertificate('agentos hub', new Date(at));
    const read = new X509Certificate(certificate);
    expect(read.subject).toBe('CN=agentos hub');
    expect(read.verify(read.publicKey)).toBe(true);
    expect(new Date(read.validFrom).toISOString()).toBe(new Date(at).toISOString());
    expect(new Date(read.validTo).getUTCFullYear()).toBe(new Date(at).getUTCFullYear() + 20);
  },
);

test('a client that knows the certificate accepts its server, and no other one of the same name', async () => {
  const ours = createCertificate('agentos hub', new Date(Date.now() - 60_000));
  const other = createCertificate('agentos hub', new Date(Date.now() - 60_000));
  expect(fingerprintOf(ours.certificate)).not.toBe(fingerprintOf(other.certificate));
  const reach = async (pinned: string): Promise<boolean> => {
    await using server = createServer({ cert: ours.certificate, key: ours.key }, (socket) => void socket.end('hello'));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const socket = connect({ port, host: '127.0.0.1', ca: pinned, checkServerIdentity: () => undefined });
    socket.on('error', () => undefined);
    const isAccepted = await new Promise<boolean>((resolve) => {
      socket.once('secureConnect', () => resolve(true));
      socket.once('close', () => resolve(false));
    });
    socket.destroy();
    return isAccepted;
  };
  expect(await reach(ours.certificate)).toBe(true);
  expect(await reach(other.certificate)).toBe(false);
});
