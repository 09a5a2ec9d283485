import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { AgentosError } from '../core/errors.ts';
import { copyIgnored } from '../git/copy-ignored.ts';
import type { Git } from '../git/git.ts';
import type { StoredStep } from '../journal/port.ts';
import { addJournals } from '../journal/postgres.ts';
import { makeFolder } from '../process/files.ts';
import { type Placed, registerRun, type SubmittedItem, type SubmittedRun, submitItems } from './backlog.ts';
import { hashOfToken } from './certificate.ts';
import { type Database, openDatabase } from './database.ts';
import {
  commitOf,
  DOCUMENT_FOLDERS,
  filesBelow,
  filesInTree,
  isNeededBy,
  SETTINGS_FILE,
  storeFiles,
  type TreeFiles,
  treeOf,
} from './document-trees.ts';
import { HubAway, type HubLink, openHubLink, readHub } from './hub-link.ts';
import { joinMachine, machineIdentity } from './machines.ts';
import { requireSchema } from './migrations.ts';
import { createBell, keepListening } from './notices.ts';
import { startRelay } from './relay.ts';
import { gitWithHub, type Remote } from './repository-cache.ts';
import type { HubFacts } from './server.ts';

/** A connection to the hub, for a command in a user's checkout. */
export interface HubConnection {
  database: Database;
  /** Identifies the command's state folder. */
  checkout: string;
  /** A folder for temporary files, in the state folder. */
  folder: string;
  facts: HubFacts;
  /** The token of a run that was submitted from here. It is derived from the machine's token and stored nowhere. */
  tokenOf(run: string): string;
  remoteFor(token: string, signal: AbortSignal): Remote;
  /**
   * Resolves when something was written about items of the repository. Where notices get lost, after a while: to be asked for before one
   * looks.
   */
  news(repository: string): Promise<void>;
  close(): Promise<void>;
}

interface ConnectionOptions {
  databaseUrl: string;
  /** The state folder. */
  base: string;
  version: string;
}

/** How often to look where notices arrive, and where they don't. */
const LOOK_EVERY_MS = 2_000;
const POLL_EVERY_MS = 300;

/** Listens from the first question on. */
function createNews(database: Database): { of: HubConnection['news']; close(): Promise<void> } {
  const bells = new Map<string, ReturnType<typeof createBell>>();
  const closed = new AbortController();
  let notices: ReturnType<typeof keepListening> | null = null;
  return {
    async of(repository) {
      notices ??= keepListening(database, {
        channels: ['agentos_events'],
        signal: closed.signal,
        // Without a name: it is for all.
        onNotice: (_, name) => bells.forEach((bell, of) => (name === '' || name === of) && bell.ring()),
      });
      const bell = bells.get(repository) ?? createBell();
      bells.set(repository, bell);
      const rung = bell.rung();
      await Promise.race([rung, sleep(notices.isHeard() ? LOOK_EVERY_MS : POLL_EVERY_MS, undefined, { ref: false })]);
    },
    async close() {
      closed.abort();
      await notices?.closed;
    },
  };
}

/** Throws if the database or the hub can't be reached, or the schema has another version. */
export async function openHubConnection({ databaseUrl, base, version }: ConnectionOptions): Promise<HubConnection> {
  // One more listens.
  const database = openDatabase(databaseUrl, { application: 'agentos', connections: 2 });
  const news = createNews(database);
  let link: HubLink | null = null;
  try {
    await requireSchema(database);
    const folder = join(base, 'machine');
    const identity = await machineIdentity(join(folder, 'submitter'));
    await joinMachine(database, { ...identity, name: hostname(), tags: [], parallel: 0, version });
    const opened = openHubLink(() => readHub(database), identity);
    link = opened;
    const facts = await opened.facts().catch((error: unknown) => {
      if (!(error instanceof HubAway)) throw error;
      throw new AgentosError({ code: 'hub-missing', database: database.name, reason: error.message }, { cause: error });
    });
    const relay = await startRelay(opened);
    return {
      database,
      checkout: identity.id,
      folder,
      facts,
      tokenOf: (run) => `agentos-${hashOfToken(`${identity.token} ${run}`)}`,
      remoteFor: (token, signal) => ({ relay, token, link: opened, signal }),
      news: (repository) => news.of(repository),
      async close() {
        await news.close();
        await relay.close();
        opened.close();
        await database.close();
      },
    };
  } catch (error) {
    link?.close();
    await database.close();
    throw error;
  }
}

/** Names a repository by the first commit of its history, so that clones and forks have the same name. */
export async function repositoryName(git: Git): Promise<string> {
  const roots = (await git.text(['rev-list', '--max-parents=0', 'HEAD'])).split('\n').sort();
  return roots[0] ?? '';
}

/** Keeps the submitted documents of a run until its results are here. Outside of refs/agentos/, which `clean` tidies. */
function submittedRef(run: string): string {
  return `refs/agentos-hub/submitted/${run}`;
}

export function submittedFiles(git: Git, run: string): Promise<TreeFiles> {
  return filesInTree(git, submittedRef(run)).catch(() => new Map());
}

export async function forgetSubmitted(git: Git, run: string): Promise<void> {
  await git.run(['update-ref', '-d', submittedRef(run)]).catch(() => undefined);
}

interface Submission {
  run: SubmittedRun;
  items: readonly SubmittedItem[];
  /** The journals in the state folder. */
  journals: readonly { key: string; steps: readonly StoredStep[] }[];
  git: Git;
  repositoryFolder: string;
  /** Ignored files that the tests need. */
  copy: readonly string[];
  itemsOf: readonly Parameters<typeof isNeededBy>[0][];
}

/** Pushes what the items need, then adds them to the backlog. No machine can claim one before that. */
export async function submit(
  connection: HubConnection,
  submission: Submission,
  signal: AbortSignal,
): Promise<Placed[]> {
  const { database, checkout } = connection;
  const { run, items, journals, git } = submission;
  await registerRun(database, run);
  const documents = await documentsOf(submission, connection.folder);
  await git.run(['update-ref', submittedRef(run.id), documents]);
  const remote = connection.remoteFor(run.token, signal);
  const at = `refs/agentos/runs/${run.id}`;
  await gitWithHub(git, remote, [
    'push',
    '--quiet',
    '--no-verify',
    `${remote.relay.url}/git/${run.repository}`,
    `+${run.settings.base}:${at}/base`,
    `+${documents}:${at}/documents`,
    `+refs/heads/agentos/*:${at}/heads/agentos/*`,
  ]);
  return submitItems(database, run, documents, items, (sql, fresh) =>
    addJournals(
      sql,
      { repository: run.repository, checkout },
      journals.filter(({ key }) => fresh.has(key)),
    ),
  );
}

/** Stores the documents as they are in the folder, tracked or not, as a commit without parents. */
async function documentsOf({ git, repositoryFolder, copy, itemsOf }: Submission, folder: string): Promise<string> {
  const files: TreeFiles = new Map();
  const add = async (root: string, paths: readonly string[]): Promise<void> => {
    const ids = await storeFiles(
      git,
      paths.map((path) => join(root, path)),
    );
    for (const [index, path] of paths.entries()) files.set(path, ids[index] ?? '');
  };
  const found: string[] = [];
  for (const folder of DOCUMENT_FOLDERS) found.push(...(await filesBelow(repositoryFolder, folder)));
  if (existsSync(join(repositoryFolder, SETTINGS_FILE))) found.push(SETTINGS_FILE);
  await add(
    repositoryFolder,
    found.filter((path) => itemsOf.some((item) => isNeededBy(item, path))),
  );
  const scratch = await mkdtemp(join(folder, 'submitted-'));
  try {
    const copies = join(scratch, 'copies');
    await makeFolder(copies);
    const { copied } = copy.length === 0 ? { copied: [] } : await copyIgnored(git, copies, copy);
    await add(copies, copied);
    return await commitOf(git, await treeOf(git, files, scratch), 'Documents');
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}
