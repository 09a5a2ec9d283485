import { readdir, readFile } from 'node:fs/promises';
import { dirname, relative } from 'node:path';
import { AgentosError, type ErrorRecord, toErrorRecord } from '../core/errors.ts';
import { type ItemId, isItemId } from '../core/ids.ts';
import { nearest } from '../core/nearest.ts';
import type { Paths } from '../core/paths.ts';
import type { DesignFacts } from '../documents/lld/design-facts.ts';
import { bodyHash, readFrontMatter } from '../documents/lld/front-matter.ts';
import { type IssueSource, isHashOf } from '../source/port.ts';
import { droppedItems } from '../workflow/dropped.ts';

const READ_AT_ONCE = 32;

/** An LLD as the backlog of implementations sees it. */
export interface ImplementItem {
  id: ItemId;
  title: string;
  /** not-ready: there is an LLD, but not one that is approved as it stands. */
  state: 'pending' | 'done' | 'dropped' | 'not-ready';
  error: ErrorRecord | null;
  chars: number;
  files: string[];
  after: string[];
}

export interface ImplementBacklogOptions {
  paths: Paths;
  source: IssueSource;
  /** The hashes of the LLDs that were implemented for each of these items. */
  implementations: (ids: readonly ItemId[]) => Promise<ReadonlyMap<string, readonly { lldHash: string }[]>>;
  /** What a design changes and builds on. */
  factsOf: (text: string) => Promise<DesignFacts>;
}

/** Exactly these ids (one without an LLD is an error, nothing is started), or every LLD there is. */
export async function implementBacklog(
  options: ImplementBacklogOptions,
  ids: readonly ItemId[] | 'all',
): Promise<ImplementItem[]> {
  const { paths, source } = options;
  const folder = dirname(paths.lld('x' as ItemId));
  const written = (await readdir(folder).catch(() => [])).flatMap((name) => {
    const id = /^LLD-(.+)\.md$/.exec(name)?.[1] ?? '';
    return isItemId(id) ? [id] : [];
  });
  const known = new Set(written);
  const wanted = ids === 'all' ? written.sort(byNumber) : [...new Set(ids)];
  const missing = wanted.find((id) => !known.has(id));
  if (missing !== undefined) {
    const path = relative(paths.repository, paths.lld(missing));
    throw new AgentosError({ code: 'lld-missing', id: missing, path, near: nearest(missing, written) });
  }
  const implementations = await options.implementations(wanted);
  const look: Look = {
    issues: new Set(await source.ids().catch(() => [])),
    isDropped: await droppedItems(paths, 'implement'),
  };
  const items: ImplementItem[] = [];
  for (let at = 0; at < wanted.length; at += READ_AT_ONCE) {
    const some = wanted.slice(at, at + READ_AT_ONCE).map(async (id) => {
      const hashes = implementations.get(id)?.map(({ lldHash }) => lldHash) ?? [];
      return implementItem(id, await readFile(paths.lld(id), 'utf8'), hashes, options, look);
    });
    items.push(...(await Promise.all(some)));
  }
  return items;
}

/** What is found out once for all items. */
interface Look {
  issues: ReadonlySet<string>;
  isDropped: Awaited<ReturnType<typeof droppedItems>>;
}

async function implementItem(
  id: ItemId,
  text: string,
  implemented: readonly string[],
  { paths, source, factsOf }: ImplementBacklogOptions,
  { issues, isDropped }: Look,
): Promise<ImplementItem> {
  const { fields, body } = readFrontMatter(text);
  const plain = { id, chars: text.length, error: null, ...(await factsOf(text)) };
  const approved = typeof fields['bodyHash'] === 'string' ? fields['bodyHash'] : null;
  const isUntouched = approved === bodyHash(body);
  const path = relative(paths.repository, paths.lld(id));
  const notReady = (why: 'edited' | 'status' | 'issue-changed'): ImplementItem => ({
    ...plain,
    state: 'not-ready',
    error: toErrorRecord(new AgentosError({ code: 'lld-not-approved', id, path, why })),
  });
  if (approved === null || fields['status'] !== 'approved') return notReady('status');
  if (!isUntouched) return notReady('edited');
  if (implemented.includes(approved)) return { ...plain, state: 'done' };
  if (await isDropped({ id, hash: approved, rawHash: approved })) return { ...plain, state: 'dropped' };
  // An approved LLD whose issue is gone stands on its own.
  const hasChanged = issues.has(id) && !isHashOf(fields['issueHash'], await source.read(id));
  return hasChanged ? notReady('issue-changed') : { ...plain, state: 'pending' };
}

const { compare: byNumber } = new Intl.Collator('en', { numeric: true });
