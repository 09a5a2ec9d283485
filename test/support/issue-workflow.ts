import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';
import { systemClock } from '../../src/core/clock.ts';
import { resolveConfig } from '../../src/core/config.ts';
import type { ItemEvent } from '../../src/core/events.ts';
import { parseItemId } from '../../src/core/ids.ts';
import { NO_USAGE } from '../../src/core/money.ts';
import { type Paths, pathsOf } from '../../src/core/paths.ts';
import { openSqliteJournal } from '../../src/journal/sqlite.ts';
import type { Provider } from '../../src/models/port.ts';
import { issueBatch } from '../../src/run/batches/document-batches.ts';
import type { Project } from '../../src/run/project.ts';
import {
  createBriefSource,
  createDirectorySource,
  readApprovedLlds,
  readKnownIssues,
} from '../../src/source/directory.ts';
import type { Issue } from '../../src/source/port.ts';
import { runIssue } from '../../src/workflow/issue.ts';
import type { ItemResult } from '../../src/workflow/item.ts';
import { testFolder } from './folder.ts';
import { review } from './models.ts';
import { SAMPLE_ISSUE } from './sample-issue.ts';
import { testItem } from './test-item.ts';

/** A folder with briefs and issues, as a repository has them. */
export interface IssuePlace {
  paths: Paths;
  write(path: string, text: string): Promise<void>;
  read(path: string): Promise<string>;
  list(path: string): Promise<string[]>;
}

export async function issuePlace(files: Record<string, string>): Promise<IssuePlace> {
  const root = await testFolder();
  const write = async (path: string, text: string): Promise<void> => {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), text);
  };
  for (const [path, text] of Object.entries(files)) await write(path, text);
  await mkdir(join(root, '.agentos/checkpoints'), { recursive: true });
  return {
    paths: pathsOf(root, join(root, '.agentos')),
    write,
    read: (path) => readFile(join(root, path), 'utf8'),
    list: async (path) => (await readdir(join(root, path)).catch(() => [] as string[])).sort(),
  };
}

interface Asked {
  step: string;
  text: string;
}

export interface IssueRun extends ItemResult {
  asked: Asked[];
  events: ItemEvent[];
}

/** By the name of the step; what is not given behaves well. A function may do something else before it answers. */
export type Replies = Partial<Record<string, string | (() => never | Promise<string>)>>;

/** The issue workflow on real files and a real journal, with models that answer as they are told. */
export async function runIssueAt(
  { paths }: IssuePlace,
  replies: Replies = {},
  { id = 'quota' }: { id?: string } = {},
): Promise<IssueRun> {
  const asked: Asked[] = [];
  const events: ItemEvent[] = [];
  const provider = (spec: string): Provider => ({
    spec,
    isModel: true,
    async complete({ role, stepId, parts }) {
      const step = stepId.split('#')[0] ?? '';
      asked.push({ step, text: parts.map((part) => part.text).join('\n\n') });
      const reply = replies[step] ?? (role === 'reviewer' ? review({ verdict: 'APPROVED' }) : SAMPLE_ISSUE);
      const text = typeof reply === 'string' ? reply : await reply();
      return { text, asked: spec, answered: spec, substituted: false, usage: NO_USAGE, metered: true };
    },
  });
  const brief = await createBriefSource(paths.briefs).read(parseItemId(id));
  const journal = openSqliteJournal(paths.checkpoint('issue', brief.id), { clock: systemClock });
  onTestFinished(() => journal.close());
  const item = testItem({
    workflow: 'issue',
    id: brief.id,
    title: brief.title,
    hash: brief.hash,
    paths,
    journal,
    provider: (role) => provider(`test:${role}`),
    emit: (event) => void events.push(event),
  });
  const result = await runIssue(
    item,
    {
      headCommit: () => Promise.resolve('0123456789'),
      open: async (commit) => ({
        commit,
        paths: [],
        kindOf: () => null,
        sizeOf: () => null,
        idOf: () => null,
        read: async () => Buffer.from(''),
      }),
      shownText: () => Promise.resolve(null),
      contextFor: () => Promise.resolve('src/main.js'),
    },
    {
      brief,
      issues: createDirectorySource(paths.issues),
      isCreatedElsewhere: false,
      known: [...(await readKnownIssues(paths.issues)), ...(await readApprovedLlds(dirname(paths.lld(brief.id))))],
    },
  );
  if (result.status === 'succeeded') await journal.remove();
  return { ...result, asked, events };
}

/** What the backlog says of the first brief. */
export async function firstBriefState({ paths }: IssuePlace): Promise<string | undefined> {
  return (await issueBatch.collect({ paths, childEnv: {}, config: resolveConfig({}, {}, {}) } as Project, 'all'))[0]
    ?.state;
}

/** An issue as `agentos lld` reads it. */
export function issueAt({ paths }: IssuePlace, id: string): Promise<Issue> {
  return createDirectorySource(paths.issues).read(parseItemId(id));
}
