import { mkdtemp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { finishedBranch, moduleWithTest } from '../branches.ts';
import { callsOf } from '../implement.ts';
import { ISSUE } from '../models.ts';
import { agentos, PROJECT, startAgentos } from '../program.ts';
import { type FakeGitHub, fakeGitHub } from './github.ts';
import { type HostedProject, hostedProject } from './project.ts';

const REACTOR = join(PROJECT, 'test', 'support', 'implementers', 'reactor.sh');
export const NUMBER = 60;
const BRANCH = 'agentos/42-item';

export interface OpenedProject extends HostedProject {
  github: FakeGitHub;
  branch: string;
  /** The commit that the branch is at, on the remote. */
  head: () => string;
  /** Runs the program with a reactor that behaves as said. */
  run: (how: string, ...words: string[]) => ReturnType<typeof agentos>;
  start: (how: string, ...words: string[]) => ReturnType<typeof startAgentos>;
  /** What the reactor was called with. */
  reactorCalls: () => Promise<{ task: string; env: Record<string, string> }[]>;
  /** CI says that a job failed at the commit that the pull request is at now. */
  fails: (name: string, log?: string) => void;
  /** A person, by default a member, says something at a line. */
  remark: (id: number, body: string, more?: Record<string, unknown>) => void;
  /** A commit of someone else on main, with these files. */
  moveBase: (files: Record<string, string>) => Promise<string>;
}

/** A project on GitHub with one open pull request, for a finished branch whose tests really run. */
export async function openedProject(): Promise<OpenedProject> {
  const project = await hostedProject();
  const { repository, bare, models, remote } = project;
  const github = await fakeGitHub({ bare });
  github.issue({ number: 42, title: 'Add a number', body: ISSUE });
  await finishedBranch(repository, '42', { files: moduleWithTest('42'), tests: ['item 42'] });
  repository.git('push', '--quiet', 'origin', BRANCH);
  const head = (): string => remote('rev-parse', BRANCH);
  const own = { ref: BRANCH, sha: head(), repo: { full_name: 'acme/widget' }, label: `acme:${BRANCH}` };
  github.pull({ number: NUMBER, head: own, body: 'Closes #42', user: github.viewer });
  const calls = join(repository.home, '..', 'reactor-calls');
  const options = { cwd: repository.root, env: github.env };
  const command = (how: string, words: string[]): string[] => [
    ...words,
    '--source',
    'github:acme/widget',
    ...models.flags,
    '--implementer',
    `command:sh '${REACTOR}' ${how} '${calls}'`,
  ];
  let job = 900;
  return {
    ...project,
    github,
    branch: BRANCH,
    head,
    run: (how, ...words) => agentos(command(how, words), options),
    start: (how, ...words) => startAgentos(command(how, words), options),
    reactorCalls: () => callsOf(calls),
    fails(name, log = '##[error]it failed') {
      job += 1;
      github.logs.set(String(job), log);
      const html_url = `https://github.com/acme/widget/actions/runs/1/job/${job}`;
      github.checkRuns.push({ head_sha: head(), name, status: 'completed', conclusion: 'failure', html_url });
    },
    remark(id, body, more = {}) {
      const by = { user: { login: 'mia', type: 'User' }, author_association: 'MEMBER' };
      github.lines.push({
        id,
        ...by,
        body,
        path: 'src/item-42.js',
        line: 1,
        created_at: `2026-03-03T10:${String(id % 60).padStart(2, '0')}:00Z`,
        ...more,
      });
    },
    async moveBase(files) {
      // In another checkout: the program has to fetch it.
      const other = await mkdtemp(join(repository.home, '..', 'other-'));
      const git = (...args: string[]): string => repository.git('-C', other, ...args);
      git('clone', '--quiet', '--branch', 'main', bare, '.');
      for (const [path, text] of Object.entries(files)) await writeFile(join(other, path), text);
      git('add', '--all');
      git('commit', '--quiet', '-m', 'On main');
      git('push', '--quiet', 'origin', 'HEAD:main');
      return git('rev-parse', 'HEAD');
    },
  };
}
