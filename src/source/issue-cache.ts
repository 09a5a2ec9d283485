import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ItemId } from '../core/ids.ts';
import { parseJson } from '../core/json.ts';
import { writeFileAtomic } from '../process/files.ts';
import type { Issue, IssueHead, IssueSource } from './port.ts';

/**
 * The last responses of a service, so that `status`, `decide` and `context` need no network. No run takes an issue's text from
 * here: programs of items can write to the folder.
 */
export interface IssueCache {
  /** Issues as last read; one that was never read is read now. */
  lastKnown: IssueSource;
  /** When the list was last read; null: never. */
  asOf(): Promise<string | null>;
  /** Writes what was read so far, and from then on every response. Nothing is written before. */
  startWriting(): Promise<void>;
}

interface CachedList {
  at: string;
  heads: IssueHead[];
}

interface CachedSourceOptions {
  location: string;
  folder: string;
  /** Connects to the service; called when something is read that is not in the cache. */
  open: () => Promise<IssueSource>;
}

/** A service whose responses go into a cache. */
export function cachedSource({ location, folder, open }: CachedSourceOptions) {
  const listFile = join(folder, 'list.json');
  const issueFile = (id: ItemId): string => join(folder, `${id}.json`);
  const unwritten = new Map<string, unknown>();
  let isWriting = false;
  const write = async (file: string, value: unknown): Promise<void> => {
    if (!isWriting) unwritten.set(file, value);
    // A cache that can't be written is no reason to fail.
    else await writeFileAtomic(file, `${JSON.stringify(value)}\n`).catch(() => undefined);
  };
  const stored = async <T>(file: string): Promise<T | null> =>
    parseJson(await readFile(file, 'utf8').catch(() => '')) as T | null;
  let known: Promise<CachedList | null> | null = null;
  const list = (): Promise<CachedList | null> => (known ??= stored<CachedList>(listFile));

  const source: IssueSource = {
    location,
    async ids() {
      const live = await open();
      const ids = await live.ids();
      const heads = await Promise.all(ids.map((id) => live.look(id)));
      await write(listFile, { at: new Date().toISOString(), heads } satisfies CachedList);
      return ids;
    },
    look: async (id) => (await open()).look(id),
    async read(id) {
      const issue = await (await open()).read(id);
      await write(issueFile(id), issue);
      return issue;
    },
    poll: async () => (await open()).poll(),
  };
  let heads: Map<string, IssueHead> | null = null;
  const lastKnown: IssueSource = {
    ...source,
    ids: async () => (await list())?.heads.map(({ id }) => id) ?? source.ids(),
    async look(id) {
      heads ??= new Map((await list())?.heads.map((head) => [head.id, head]));
      const head = heads.get(id);
      if (head !== undefined) return head;
      const { title, raw, facts } = await lastKnown.read(id);
      return { id, title, chars: raw.length, blockers: facts?.blockedBy.length ?? 0 };
    },
    read: async (id) => (await stored<Issue>(issueFile(id))) ?? source.read(id),
  };
  const issueCache: IssueCache = {
    lastKnown,
    asOf: async () => (await list())?.at ?? null,
    async startWriting() {
      isWriting = true;
      for (const [file, value] of unwritten) await write(file, value);
      unwritten.clear();
    },
  };
  return { source, issueCache };
}
