import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { parseItemId } from '../../../src/core/ids.ts';
import { readHeader } from '../../../src/documents/header.ts';
import { emptyLedger } from '../../../src/documents/ledger.ts';
import { branchNameOf } from '../../../src/git/branches.ts';
import { parseIssue } from '../../../src/source/directory.ts';
import { writeReport } from '../../../src/verification/report.ts';
import { approvedLld } from '../../../src/workflow/approved-documents.ts';
import { type Calls, callsOf, commitProject, implementer } from '../implement.ts';
import { ISSUE, lldFor } from '../models.ts';
import { type TestRepository, testRepository } from '../repository.ts';
import { type ScriptedModels, scriptedModels } from '../scripted-models.ts';

export interface HostedProject {
  repository: TestRepository;
  models: ScriptedModels;
  /** The git repository behind `origin`. */
  bare: string;
  /** Models of every role. */
  flags: string[];
  /** What the implementer was called with. */
  writerCalls: () => Promise<Calls[]>;
  /** An approved design with its finished branch, as `agentos implement` leaves them. */
  finished: (id: string, title?: string) => Promise<string>;
  /** Git in the bare repository. */
  remote: (...args: string[]) => string;
}

/** A project whose tests really run, with a bare repository as its remote. */
export async function hostedProject(files: Record<string, string> = {}): Promise<HostedProject> {
  const repository = await testRepository({}, { commit: false });
  for (const [path, text] of Object.entries(files)) await repository.write(path, text);
  await commitProject(repository);
  const bare = join(repository.home, '..', 'remote.git');
  execFileSync('git', ['clone', '--quiet', '--bare', repository.root, bare]);
  repository.git('remote', 'add', 'origin', bare);
  const models = await scriptedModels(repository);
  const state = join(repository.home, '..', 'writer-calls');
  return {
    repository,
    models,
    bare,
    flags: [...models.flags, '--implementer', implementer({ state })],
    writerCalls: () => callsOf(state),
    finished: (id, title = 'Add a number') => finishedBranch(repository, id, title),
    remote: (...args) => execFileSync('git', args, { cwd: bare, encoding: 'utf8' }).trim(),
  };
}

async function finishedBranch(repository: TestRepository, id: string, title: string): Promise<string> {
  const issue = { ...parseIssue(parseItemId(id), ISSUE), title };
  const baseCommit = repository.git('rev-parse', 'main');
  const by = { drafter: 'command:x', reviewer: 'command:y', recorded: false, rounds: 1, baseCommit };
  const lld = approvedLld(lldFor(id), issue, by);
  const branch = branchNameOf(id, title);
  const gate = {
    passed: true,
    skipped: null,
    command: 'npm test',
    counts: null,
    hash: null,
    summary: '',
    details: [],
    problems: [],
  };
  repository.git('checkout', '--quiet', '-b', branch);
  await repository.write(`docs/reports/${id}.lld.md`, lld);
  await repository.write(
    `docs/reports/${id}.md`,
    writeReport({
      id,
      title,
      design: `docs/reports/${id}.lld.md`,
      lldHash: readHeader(lld).header.bodyHash ?? '',
      branch,
      baseCommit,
      testsCommit: '1'.repeat(40),
      codeCommit: '2'.repeat(40),
      implementer: 'command:x',
      reviewer: 'command:y',
      policy: 'strict',
      changes: [],
      gates: (['red', 'green', 'reverse'] as const).map((name) => ({ ...gate, gate: name })),
      scenarios: [],
      frozen: [],
      coverage: { target: null, files: null },
      review: { rounds: 1, verdict: 'APPROVED', ledger: emptyLedger },
      notices: [],
      spending: [],
    }),
  );
  repository.git('add', '--all', 'docs/reports');
  repository.git('commit', '--quiet', '-m', `Implement ${id}`);
  repository.git('checkout', '--quiet', 'main');
  await repository.write(`docs/lld/LLD-${id}.md`, lld);
  return branch;
}
