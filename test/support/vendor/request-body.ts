import type { IncomingMessage } from 'node:http';
import { brotliDecompressSync, gunzipSync, inflateSync, zstdDecompressSync } from 'node:zlib';
import { asObject, type JsonObject } from './json.ts';

const DECODERS: Record<string, (data: Buffer) => Buffer> = {
  gzip: gunzipSync,
  deflate: inflateSync,
  br: brotliDecompressSync,
  zstd: zstdDecompressSync,
};

/** The body as an object, or null when it is not JSON. Rejects when the caller leaves while sending it. */
export async function readBody(request: IncomingMessage): Promise<JsonObject | null> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) if (Buffer.isBuffer(chunk)) chunks.push(chunk);
  const decode = DECODERS[request.headers['content-encoding'] ?? ''];
  const raw = Buffer.concat(chunks);
  try {
    const parsed: unknown = JSON.parse((decode === undefined ? raw : decode(raw)).toString('utf8'));
    return asObject(parsed);
  } catch {
    return null;
  }
}
