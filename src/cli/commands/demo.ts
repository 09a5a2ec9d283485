import { existsSync } from 'node:fs';
import { delimiter, join, relative, resolve } from 'node:path';
import { EXIT } from '../../core/exit-code.ts';
import { withoutSecrets } from '../../core/keys.ts';
import { createPeople } from '../../output/people.ts';
import { printSummary } from '../../output/summary.ts';
import { createTerminal, paint } from '../../output/terminal.ts';
import { lldBatch } from '../../runner/batch.ts';
import { planBatch } from '../../runner/plan-batch.ts';
import { runPlan } from '../../runner/run-plan.ts';
import { packageRoot } from '../../workspace/package-root.ts';
import { openProject } from '../../workspace/project.ts';
import { makeSampleRepository } from '../../workspace/sample-repository.ts';
import { watchInterrupts } from '../interrupt.ts';
import { version } from '../version.ts';

/** What was recorded. Anything else means that the tour, or the program, is broken. */
const RECORDED: Record<string, { status: string; told: string }> = {
  '7': { status: 'succeeded', told: 'the reviewer asked for a change, the draft was revised, then approved' },
  '12': { status: 'discuss', told: 'the reviewer found a decision that only a person can take' },
  '21': { status: 'succeeded', told: 'approved at once' },
};

export async function demoCommand({ dir }: { dir: string }): Promise<number> {
  const directory = resolve(dir);
  const env = tourEnvironment();
  const terminal = createTerminal(process.stdout, process.env, (text) => text);
  const title = (text: string): void => terminal.line(`\n${paint(terminal, 'bold', text)}`);

  await makeSampleRepository(directory, env);
  terminal.line(
    'A tour of agentos on a sample repository: no key, no network. The replies of the models are recorded;',
  );
  terminal.line('the checks, the review loop, the checkpoints and the files are real.');
  title(`Three issues in ${relative(process.cwd(), directory) || '.'}/issues become low-level designs`);
  terminal.line('$ agentos lld --all --offline');

  const project = await openProject({ cwd: directory, env, flags: { offline: true } });
  const plan = await planBatch({ project, batch: lldBatch, ids: 'all', parallel: 1 });
  const people = createPeople({ stream: process.stdout, env: process.env, secrets: [], level: 'normal', live: false });
  const interrupt = watchInterrupts();
  const summary = await runPlan({
    project,
    batch: lldBatch,
    plan,
    haltAfter: null,
    request: { parallel: 1, haltAfter: null, config: { offline: true }, all: true },
    resumes: null,
    retryFlags: ['--offline'],
    interrupt,
    subscribers: [people.subscriber],
    prefixer: people.prefixer,
    version,
  }).finally(() => interrupt.dispose());
  printSummary(terminal, summary);
  if (interrupt.by() !== null) return summary.exitCode;

  title('What happened');
  const ids = Object.keys(RECORDED);
  for (const id of ids) terminal.line(`  ${id.padEnd(4)}${RECORDED[id]?.told}`);
  const asRecorded =
    ids.length === summary.items.length && summary.items.every(({ id, status }) => RECORDED[id]?.status === status);
  if (!asRecorded) {
    terminal.line(paint(terminal, 'red', 'The tour did not go as recorded. Please report it with the lines above.'));
    return EXIT.failed;
  }

  title('What to try next');
  for (const [command, told] of nextSteps(relative(process.cwd(), directory) || '.')) {
    terminal.line(`  ${command}`);
    terminal.line(`      ${paint(terminal, 'dim', told)}`);
  }
  terminal.line('In a repository of your own: write issues/1.md, set ANTHROPIC_API_KEY and GEMINI_API_KEY, then:');
  terminal.line(`  ${ownName()} lld 1`);
  return EXIT.ok;
}

/** Neither the user's state folder has a part in the tour nor, in a git hook, the repository that GIT_DIR names. */
function tourEnvironment(): Record<string, string> {
  const all = Object.entries(withoutSecrets(process.env, [], []));
  return Object.fromEntries(all.filter(([name]) => name !== 'AGENTOS_HOME' && !name.startsWith('GIT_')));
}

function nextSteps(place: string): [command: string, told: string][] {
  const file = (path: string): string => shellWord(join(place, path));
  return [
    [`less ${file('docs/lld/LLD-7.md')}`, 'the approved design, with its review log'],
    [`ls ${file('docs/lineage/7')}`, 'every version on the way'],
    [`less ${file('docs/lineage/12/003-verdict.md')}`, 'why issue 12 waits for a person'],
    [`${ownName()} check ${file('docs/lld/LLD-7.md')}`, 'the mechanical checks and the coverage table'],
    [
      `cd ${shellWord(place)} && ${ownName()} lld --all --offline`,
      'again: what is approved is skipped, what is stored is not asked again',
    ],
  ];
}

/** How the program is called from here: by its name, or by its place in a checkout that is not on the PATH. */
function ownName(): string {
  const onPath = (process.env['PATH'] ?? '').split(delimiter).some((folder) => existsSync(join(folder, 'agentos')));
  const inCheckout = join(packageRoot(), 'bin', 'agentos');
  return onPath || !existsSync(inCheckout) ? 'agentos' : shellWord(inCheckout);
}

function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
