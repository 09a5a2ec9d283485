import { text } from 'node:stream/consumers';
import { type ErrorRecord, toErrorRecord } from '../core/errors.ts';
import { createGit } from '../git/git.ts';
import { writeFileAtomic } from '../process/files.ts';
import {
  type AskedContext,
  type ContextOptions,
  type RepositoryContext,
  repositoryContext,
} from '../prompts/context/context.ts';
import { indexBytes, readIndex } from '../prompts/context/index-file.ts';

/*
 * Reads a repository for one item: the request on standard input, the answer on standard output.
 */

export interface ContextRequest {
  repository: string;
  commit: string;
  asked: AskedContext;
  options: ContextOptions;
  /** The index file. */
  index: string;
}

export type ContextAnswer = { context: RepositoryContext } | { error: ErrorRecord };

async function answer({ repository, commit, asked, options, index }: ContextRequest): Promise<RepositoryContext> {
  const known = await readIndex(index);
  const before = new Set([...known.blobs.keys(), ...known.commits.keys()]);
  // The worker chose the environment of this process.
  const git = createGit(repository, process.env as Record<string, string>);
  const context = await repositoryContext(git, commit, asked, options, known);
  const isNew = [...known.blobs.keys(), ...known.commits.keys()].some((key) => !before.has(key));
  const bytes = isNew ? indexBytes(known) : null;
  // The index only saves time: failing to write it is not an error.
  if (bytes !== null) await writeFileAtomic(index, bytes).catch(() => undefined);
  return context;
}

const result: ContextAnswer = await answer(JSON.parse(await text(process.stdin)) as ContextRequest).then(
  (context) => ({ context }),
  (error: unknown) => ({ error: toErrorRecord(error) }),
);
process.stdout.write(JSON.stringify(result));
