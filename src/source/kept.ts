import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ItemId } from '../core/ids.ts';
import { parseJson } from '../core/json.ts';
import { writeFileAtomic } from '../process/files.ts';
import type { Issue, IssueHead, IssueSource } from './port.ts';

/**
 * What was last read from a service, in the folder of caches: `status`, `decide` and `context` then need no network. No run takes a
 * text from here: programs that items run can write to the folder.
 */
export interface KeptSource {
  /** The service's own, of which every answer is kept once `keep` was called. */
  source: IssueSource;
  /** As it was last read; what never was is read now. */
  lastKnown: IssueSource;
  /** When the list was last read; null: never. */
  asOf(): Promise<string | null>;
  /** Before that nothing is written. */
  keep(): Promise<void>;
}

interface KeptList {
  at: string;
  heads: IssueHead[];
}

export function createKeptSource(live: IssueSource, folder: string): KeptSource {
  const listFile = join(folder, 'list.json');
  const issueFile = (id: ItemId): string => join(folder, `${id}.json`);
  const unwritten = new Map<string, unknown>();
  let isKept = false;
  const write = async (file: string, value: unknown): Promise<void> => {
    if (!isKept) unwritten.set(file, value);
    // It can be read again: nothing fails over it.
    else await writeFileAtomic(file, `${JSON.stringify(value)}\n`).catch(() => undefined);
  };
  const read = async <T>(file: string): Promise<T | null> =>
    parseJson(await readFile(file, 'utf8').catch(() => '')) as T | null;
  let known: Promise<KeptList | null> | null = null;
  const list = (): Promise<KeptList | null> => (known ??= read<KeptList>(listFile));
  let heads: Map<string, IssueHead> | null = null;
  const headOf = async (id: ItemId): Promise<IssueHead | undefined> =>
    (heads ??= new Map((await list())?.heads.map((head) => [head.id, head]))).get(id);

  const source: IssueSource = {
    ...live,
    async ids() {
      const ids = await live.ids();
      const all = await Promise.all(ids.map((id) => live.look(id)));
      await write(listFile, { at: new Date().toISOString(), heads: all } satisfies KeptList);
      return ids;
    },
    async read(id) {
      const issue = await live.read(id);
      await write(issueFile(id), issue);
      return issue;
    },
  };
  const lastKnown: IssueSource = {
    ...live,
    ids: async () => (await list())?.heads.map(({ id }) => id) ?? live.ids(),
    async look(id) {
      const head = await headOf(id);
      if (head !== undefined) return head;
      const { title, raw, facts } = await lastKnown.read(id);
      return { id, title, chars: raw.length, blockers: facts?.blockedBy.length ?? 0 };
    },
    read: async (id) => (await read<Issue>(issueFile(id))) ?? live.read(id),
  };
  return {
    source,
    lastKnown,
    asOf: async () => (await list())?.at ?? null,
    async keep() {
      isKept = true;
      for (const [file, value] of unwritten) await write(file, value);
      unwritten.clear();
    },
  };
}
