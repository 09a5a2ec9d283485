import type { IncomingMessage } from 'node:http';
import { promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate, zstdDecompress } from 'node:zlib';
import { AgentosError } from '../core/errors.ts';

const DECODERS: Readonly<Record<string, (bytes: Buffer, options: { maxOutputLength: number }) => Promise<Buffer>>> = {
  gzip: promisify(gunzip),
  deflate: promisify(inflate),
  br: promisify(brotliDecompress),
  zstd: promisify(zstdDecompress),
};

/** The whole body, decoded. Fails with the status that the caller gets. */
export async function readRequestBody(request: IncomingMessage, vendor: string, maxBytes: number): Promise<Buffer> {
  const refuse = (status: number, detail: string): AgentosError =>
    new AgentosError({ code: 'provider-refused-request', provider: vendor, status, detail });
  const tooLarge = (): AgentosError => refuse(413, `the request is larger than ${Math.round(maxBytes / 1_048_576)} MB`);
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.byteLength;
    if (bytes > maxBytes) throw tooLarge();
    chunks.push(chunk);
  }
  const body = Buffer.concat(chunks);
  const encoding = request.headers['content-encoding']?.trim().toLowerCase() ?? 'identity';
  if (encoding === 'identity' || encoding === '') return body;
  const decode = DECODERS[encoding];
  if (decode === undefined) throw refuse(415, `the request is encoded with ${encoding}, which the gateway can't read`);
  return decode(body, { maxOutputLength: maxBytes }).catch((error: unknown) => {
    throw error instanceof RangeError ? tooLarge() : refuse(400, `the request is not ${encoding}`);
  });
}
