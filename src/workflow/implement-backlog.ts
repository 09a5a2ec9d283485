import { readdir, readFile } from 'node:fs/promises';
import { dirname, relative } from 'node:path';
import { AgentosError, codeOf, type ErrorRecord, toErrorRecord } from '../core/errors.ts';
import { type ItemId, isItemId } from '../core/ids.ts';
import { nearest } from '../core/nearest.ts';
import type { Paths } from '../core/paths.ts';
import { implementedHashOf } from '../governance/implementation/implemented-lld.ts';
import { bodyHash, readFrontMatter } from '../governance/lld/front-matter.ts';
import { normaliseText } from '../governance/markdown.ts';
import { type Issue, type IssueSource, isHashOf } from '../source/port.ts';
import { designFacts } from './design-facts.ts';
import { droppedFor } from './dropped.ts';

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
  /** The LLD of an item as its branches have it. */
  onBranches: (ids: readonly ItemId[]) => Promise<ReadonlyMap<string, readonly string[]>>;
}

/** Exactly these ids (one without an LLD is an error, nothing is started), or every LLD there is. */
export async function implementBacklog(
  { paths, source, onBranches }: ImplementBacklogOptions,
  ids: readonly ItemId[] | 'all',
): Promise<ImplementItem[]> {
  const folder = dirname(paths.lld('x' as ItemId));
  const written = (await readdir(folder).catch(() => [])).flatMap((name) => {
    const id = /^LLD-(.+)\.md$/.exec(name)?.[1] ?? '';
    return isItemId(id) ? [id] : [];
  });
  const wanted = ids === 'all' ? written.toSorted(byNumber) : [...new Set(ids)];
  const branches = await onBranches(wanted);
  const items: ImplementItem[] = [];
  for (const id of wanted) {
    if (!written.includes(id)) {
      const path = relative(paths.repository, paths.lld(id));
      throw new AgentosError({ code: 'lld-missing', id, path, near: nearest(id, written) });
    }
    const text = await readFile(paths.lld(id), 'utf8');
    items.push(await implementItem(id, text, branches.get(id) ?? [], paths, source));
  }
  return items;
}

async function implementItem(
  id: ItemId,
  given: string,
  onBranches: readonly string[],
  paths: Paths,
  source: IssueSource,
): Promise<ImplementItem> {
  const text = normaliseText(given);
  const { fields, body } = readFrontMatter(text);
  const plain = { id, chars: text.length, error: null, ...designFacts(text) };
  const approved = typeof fields['bodyHash'] === 'string' ? fields['bodyHash'] : null;
  const isUntouched = approved === bodyHash(body);
  if (fields['status'] === 'implemented' && isUntouched) return { ...plain, state: 'done' };
  if (approved !== null && isUntouched && onBranches.some((branch) => implementedHashOf(branch) === approved))
    return { ...plain, state: 'done' };
  const path = relative(paths.repository, paths.lld(id));
  const notReady = (why: 'edited' | 'status' | 'issue-changed'): ImplementItem => ({
    ...plain,
    state: 'not-ready',
    error: toErrorRecord(new AgentosError({ code: 'lld-not-approved', id, path, why })),
  });
  if (approved === null || (fields['status'] !== 'approved' && fields['status'] !== 'implemented'))
    return notReady('status');
  if (!isUntouched) return notReady('edited');
  if (await droppedFor(paths, id, approved)) return { ...plain, state: 'dropped' };
  const issue = await issueOf(id, source);
  const isChanged = issue !== null && !isHashOf(fields['issueHash'], issue);
  return isChanged ? notReady('issue-changed') : { ...plain, state: 'pending' };
}

/** Null where the issue is not there: an approved LLD stands on its own. */
async function issueOf(id: ItemId, source: IssueSource): Promise<Issue | null> {
  try {
    return await source.read(id);
  } catch (error) {
    if (codeOf(error) === 'issue-missing' || codeOf(error) === 'source-missing') return null;
    throw error;
  }
}

function byNumber(a: string, b: string): number {
  return a.localeCompare(b, 'en', { numeric: true });
}
