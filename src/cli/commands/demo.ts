import { existsSync } from 'node:fs';
import { cp, readdir } from 'node:fs/promises';
import { delimiter, join, relative, resolve } from 'node:path';
import { AgentosError, systemCode } from '../../core/errors.ts';
import { EXIT } from '../../core/exit-code.ts';
import { withoutSecrets } from '../../core/keys.ts';
import { shellWord } from '../../core/lines.ts';
import { branchesBelow } from '../../git/branches.ts';
import { createGit } from '../../git/git.ts';
import { consoleSubscriber } from '../../output/event-lines.ts';
import { OutputPrefixer, sinkOf } from '../../output/prefixer.ts';
import { printSummary } from '../../output/summary.ts';
import { createTerminal, paint } from '../../output/terminal.ts';
import { packageRoot } from '../../process/own-process.ts';
import type { Pipeline } from '../../run/pipeline.ts';
import { pipelineNamed, planBatch } from '../../run/plan-batch.ts';
import { openProject } from '../../run/project.ts';
import { runPlan } from '../../run/run.ts';
import { hideSecrets } from '../request.ts';
import { watchInterrupts } from '../signals.ts';
import { version } from '../version.ts';

/** How an item of the tour ends, and what to say about it. */
interface RecordedEnd {
  status: string;
  told: string;
}

/** What was recorded. Anything else means that the tour, or the program, is broken. */
const RECORDED_DESIGNS: Record<string, RecordedEnd> = {
  '7': { status: 'succeeded', told: 'the reviewer asked for a change, the draft was revised, then approved' },
  '12': { status: 'discuss', told: 'the reviewer found a decision that only a person can take' },
  '21': { status: 'succeeded', told: 'approved at once' },
};

/** 12 is not among them: without an approved design there is nothing to build. */
const RECORDED_CODE: Record<string, RecordedEnd> = {
  '7': {
    status: 'succeeded',
    told: 'one of its first tests passed without any code; it was refused and fixed, and then the code was written',
  },
  '21': {
    status: 'succeeded',
    told: 'straight through; not at the same time as 7, because both change src/index.js and README.md',
  },
};

const CODE_INTRODUCTION = [
  'What is written is recorded; that the tests fail without the code, pass with it, and fail again when it is taken out',
  'is seen here, on this machine, by running them. 12 is skipped: it waits for a person.',
];

export async function demoCommand({ dir = freeFolder() }: { dir?: string }): Promise<number> {
  const directory = resolve(dir);
  const place = relative(process.cwd(), directory) || '.';
  const env = tourEnvironment();
  hideSecrets([]);
  const terminal = createTerminal();
  const title = (text: string): void => terminal.line(`\n${paint(terminal, 'bold', text)}`);
  using interrupt = watchInterrupts();

  await makeSampleRepository(directory, env);
  terminal.line(
    'A tour of agentos on a sample repository: no key, no network. The replies of the models are recorded;',
  );
  terminal.line('the checks, the review loop, the gates, the checkpoints, the files and the branches are real.');
  // What is run is our own recording.
  const project = await openProject({ cwd: directory, env, flags: { offline: true, sandbox: 'off' } });

  /** Null: as recorded; else the exit code to end with. */
  const act = async (pipeline: Pipeline, recorded: Record<string, RecordedEnd>): Promise<number | null> => {
    terminal.line(`$ agentos ${pipeline.name} --all --offline`);
    const summary = await runPlan({
      project,
      pipeline,
      plan: await planBatch({ project, pipeline, ids: 'all', parallel: 1, isDryRun: false }),
      request: { parallel: 1, haltAfter: null, config: { offline: true }, all: true },
      resumes: null,
      retryFlags: ['--offline'],
      interrupt,
      subscribers: [consoleSubscriber(terminal, 'normal')],
      prefixer: (onLine) => new OutputPrefixer({ ...sinkOf(process.stdout), colour: terminal.colour, onLine }),
      version,
    });
    // What to try next comes at the end, for both halves of the tour.
    printSummary(terminal, summary, null);
    if (interrupt.by() !== null) return summary.exitCode;
    title('What happened');
    for (const [id, { told }] of Object.entries(recorded)) terminal.line(`  ${id.padEnd(4)}${told}`);
    const isEnd = ({ id, status }: { id: string; status: string }): boolean => recorded[id]?.status === status;
    if (summary.items.length === Object.keys(recorded).length && summary.items.every(isEnd)) return null;
    terminal.line(paint(terminal, 'red', 'The tour did not go as recorded. Please report it with the lines above.'));
    return EXIT.failed;
  };
  title(`Three issues in ${place}/issues become low-level designs`);
  const designs = await act(pipelineNamed('lld'), RECORDED_DESIGNS);
  if (designs !== null) return designs;
  title('The two approved designs become tested branches');
  for (const line of CODE_INTRODUCTION) terminal.line(line);
  const code = await act(pipelineNamed('implement'), RECORDED_CODE);
  if (code !== null) return code;

  title('What to try next');
  for (const [command, told] of await nextSteps(place, directory, env)) {
    terminal.line(`  ${command}`);
    terminal.line(`      ${paint(terminal, 'dim', told)}`);
  }
  terminal.line('In a repository of your own: write issues/1.md, set ANTHROPIC_API_KEY and GEMINI_API_KEY, then:');
  terminal.line(`  ${ownName()} lld 1 && ${ownName()} implement 1`);
  terminal.line('The tour in the browser, live to decide in, or as one file:');
  terminal.line(`  ${ownName()} ui --repo ${shellWord(place)} --open`);
  terminal.line(`  ${ownName()} report --repo ${shellWord(place)} --open`);
  return EXIT.ok;
}

/** Neither the user's state folder has a part in the tour nor, in a git hook, the repository that GIT_DIR names. */
function tourEnvironment(): Record<string, string> {
  const all = Object.entries(withoutSecrets(process.env, [], []));
  return Object.fromEntries(all.filter(([name]) => name !== 'AGENTOS_HOME' && !name.startsWith('GIT_')));
}

async function nextSteps(
  place: string,
  directory: string,
  env: Record<string, string>,
): Promise<[command: string, told: string][]> {
  const file = (path: string): string => shellWord(join(place, path));
  const where = `--repo ${shellWord(place)}`;
  const [branch] = await branchesBelow(createGit(directory, env), 'agentos/7-');
  const name = branch?.name ?? 'agentos/7-';
  const git = `git -C ${shellWord(place)}`;
  return [
    [`less ${file('docs/lld/LLD-7.md')}`, 'the approved design, with its review log'],
    [`less ${file('docs/lineage/12/003-verdict.md')}`, 'why issue 12 waits for a person'],
    [`${git} log --stat main..${name}`, 'the tests, the code and the report, one commit each'],
    [`${git} show ${name}:docs/reports/7.md`, 'the evidence of each gate, the coverage and the review'],
    [`${ownName()} check ${file('docs/lld/LLD-7.md')}`, 'the mechanical checks and the coverage table'],
    [
      `${ownName()} lld --all --offline ${where}`,
      'again: what is approved is skipped, what is stored is not asked again',
    ],
    [`${git} merge ${name}`, 'takes the code, its tests and its report over into main'],
    [`${ownName()} status 12 ${where}`, 'where issue 12 stands, what it waits for, and what can be decided'],
    [`${ownName()} decide 12 ${where} --approve --reason ${shellWord(DECISION)}`, 'your decision on issue 12'],
    [`${ownName()} lld 12 ${where} --offline`, 'the next run takes it: the design of issue 12 is approved'],
  ];
}

/** Answers what the recorded reviewer of issue 12 asks. */
const DECISION = 'The application hands in a store; each person has a list of their own.';

/** How the program is called from here: by its name, or by its place in a checkout that is not on the PATH. */
function ownName(): string {
  const onPath = (process.env['PATH'] ?? '').split(delimiter).some((folder) => existsSync(join(folder, 'agentos')));
  const inCheckout = join(packageRoot(), 'bin', 'agentos');
  return onPath || !existsSync(inCheckout) ? 'agentos' : shellWord(inCheckout);
}

/** The first of `agentos-demo`, `agentos-demo-2`, … that is free: what an earlier demo left is not touched. */
function freeFolder(): string {
  for (let n = 1; ; n++) {
    const name = n === 1 ? 'agentos-demo' : `agentos-demo-${n}`;
    if (!existsSync(name)) return name;
  }
}

/** The environment must not name another repository (GIT_DIR and its kin): git would commit there. */
async function makeSampleRepository(directory: string, env: Record<string, string>): Promise<void> {
  if (existsSync(directory) && !(await isEmptyFolder(directory)))
    throw new AgentosError({ code: 'demo-folder-taken', directory });
  const environment = { ...env, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' };
  // Before anything is written: without git there is no sample repository.
  await createGit(packageRoot(), environment).run(['--version']);
  try {
    await cp(join(packageRoot(), 'examples', 'demo', 'repository'), directory, { recursive: true });
  } catch (error) {
    const reason = systemCode(error) ?? String(error);
    throw new AgentosError({ code: 'output-unwritable', path: directory, reason }, { cause: error });
  }
  const git = createGit(directory, environment);
  await git.run(['init', '--quiet', '--initial-branch=main', '.']);
  await git.run(['add', '--all']);
  // Its own, so that commits work where git has no identity.
  await git.run(['config', 'user.name', 'agentos demo']);
  await git.run(['config', 'user.email', 'demo@localhost']);
  await git.run(['commit', '--quiet', '-m', 'Sample repository']);
}

function isEmptyFolder(directory: string): Promise<boolean> {
  return readdir(directory).then(
    (names) => names.length === 0,
    () => false,
  );
}
