import { open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type ItemId, isItemId } from '../core/ids.ts';

const HEAD_BYTES = 4_096;
const READ_AT_ONCE = 64;

/**
 * Every LLD in a folder with the hash of the body that was approved, as its front matter has it; null without one. The
 * designs are long, and the rest of them is neither read nor parsed.
 */
export async function readLldHashes(folder: string): Promise<Map<ItemId, string | null>> {
  const names = await readdir(folder).catch(() => []);
  const ids = names.flatMap((name) => {
    const id = /^LLD-(.+)\.md$/.exec(name)?.[1] ?? '';
    return isItemId(id) ? [id] : [];
  });
  ids.sort(new Intl.Collator('en', { numeric: true }).compare);
  const hashes = new Map<ItemId, string | null>();
  for (let at = 0; at < ids.length; at += READ_AT_ONCE) {
    const some = ids.slice(at, at + READ_AT_ONCE);
    const heads = await Promise.all(some.map((id) => headOf(join(folder, `LLD-${id}.md`))));
    for (const [index, id] of some.entries()) hashes.set(id, hashIn(heads[index] ?? ''));
  }
  return hashes;
}

function hashIn(head: string): string | null {
  return /^bodyHash: "?([0-9a-f]{64})/m.exec(head)?.[1] ?? null;
}

async function headOf(path: string): Promise<string> {
  const file = await open(path, 'r').catch(() => null);
  if (file === null) return '';
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0);
    return buffer.toString('utf8', 0, bytesRead);
  } finally {
    await file.close();
  }
}
