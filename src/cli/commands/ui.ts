import { spawn } from 'node:child_process';
import { join, relative, resolve } from 'node:path';
import { usageError } from '../../core/errors.ts';
import { DATABASE_VARIABLE } from '../../core/keys.ts';
import { createTerminal, printable } from '../../output/terminal.ts';
import { writeFileAtomic } from '../../process/files.ts';
import { isTampered } from '../../run/history/audit.ts';
import { readableRun } from '../../run/history/run-files.ts';
import { type Project, withCachedIssues } from '../../run/project.ts';
import { createRuns } from '../../ui/data/runs.ts';
import { htmlReport, markdownReport } from '../../ui/report.ts';
import { isLoopback, startUi } from '../../ui/server/server.ts';
import { decideAtHub, followAtHub } from '../at-hub.ts';
import { type PlaceFlags, projectOf } from '../request.ts';
import { exitCodeFor, watchInterrupts } from '../signals.ts';
import { version } from '../version.ts';

interface UiFlags extends PlaceFlags {
  port?: number;
  host?: string;
  token?: string;
  open?: boolean;
  readOnly?: boolean;
}

const SHORTEST_TOKEN = 16;

/** The dashboard, until it is interrupted. */
export async function uiCommand(flags: UiFlags): Promise<number> {
  const { host = '127.0.0.1', token = null, port = null, readOnly = false, database } = flags;
  if (!isLoopback(host) && token === null)
    throw usageError(
      `On ${host} others on the network can reach the dashboard, so it needs a token of your own.`,
      `agentos ui --host ${host} --token "$(openssl rand -hex 32)"`,
    );
  if (token !== null && !new RegExp(`^[\\w-]{${SHORTEST_TOKEN},}$`).test(token))
    throw usageError(
      `A token has at least ${SHORTEST_TOKEN} letters, digits, - or _.`,
      'On this machine, --token is not needed: the program makes a random one.',
    );
  // For the programs that are started from it, too.
  if (database !== undefined) process.env[DATABASE_VARIABLE] = database;
  const project = withCachedIssues(await projectOf(flags));
  using interrupt = watchInterrupts();
  await using _following = await followAtHub(project, flags);
  const server = await startUi({
    project,
    version,
    readOnly,
    host,
    port,
    token,
    place: placeOf(flags),
    decideWith: (id, decide) => decideAtHub(project, flags, id, decide),
  });
  const terminal = createTerminal(project.mask);
  terminal.line(`Dashboard: ${server.url}`);
  terminal.line('Ctrl+C ends it. Runs that were started from it continue.');
  if (flags.open) await openInBrowser(server.oneTimeUrl());
  if (!interrupt.polite.aborted)
    await new Promise((end) => interrupt.polite.addEventListener('abort', end, { once: true }));
  await server.close();
  return exitCodeFor(interrupt.by());
}

/** For programs that are started elsewhere: as words, and absolute. */
function placeOf({ repo, baseDir, config, source }: PlaceFlags): string[] {
  const folders = { '--repo': repo ?? '.', '--base-dir': baseDir, '--config': config };
  const words = Object.entries(folders).flatMap(([flag, path]) => (path === undefined ? [] : [flag, resolve(path)]));
  return source === undefined ? words : [...words, '--source', source];
}

interface ReportFlags extends PlaceFlags {
  format: 'html' | 'md';
  output?: string;
  open?: boolean;
}

/** A run as one file. HTML goes to the run's folder unless `--output` names a file, Markdown to stdout. */
export async function reportCommand(which: string | undefined, flags: ReportFlags): Promise<void> {
  const project = withCachedIssues(await projectOf(flags));
  const { paths } = project;
  const record = await readableRun(paths, which);
  if (record === null) throw usageError('There is no run to report on.', 'agentos lld --all starts one.');
  const { runId } = record;
  const warn = (text: string): void => void process.stderr.write(`${text}\n`);
  const isChanged = await isTampered(paths.run(runId).directory);
  if (isChanged) warn(`Files of this run were changed. See: agentos check --audit ${runId}`);
  const isMarkdown = flags.format === 'md';
  const text = isMarkdown ? await markdownOf(project, runId, isChanged) : await htmlOf(project, runId, warn);
  const named = flags.output ?? (isMarkdown ? '-' : null);
  if (named === '-') {
    process.stdout.write(text);
    return;
  }
  const file = named === null ? join(paths.run(runId).directory, 'report.html') : resolve(named);
  await writeFileAtomic(file, text);
  const way = relative(process.cwd(), file);
  process.stdout.write(`${way.startsWith('..') ? file : way}\n`);
  if (flags.open && !(await openInBrowser(file))) warn('No browser found. Open the file yourself.');
}

async function markdownOf(project: Project, runId: string, isChanged: boolean): Promise<string> {
  const runs = createRuns(project);
  const [folded, brief] = [await runs.folded(runId), await runs.brief(runId)];
  if (folded === null || brief === null) return '';
  return project.mask(printable(`${markdownReport(folded, brief, isChanged)}\n`));
}

async function htmlOf(project: Project, runId: string, warn: (text: string) => void): Promise<string> {
  const { text, leftOut } = await htmlReport({ project, version, runId, now: new Date() });
  if (leftOut > 0) warn(`The report lists ${leftOut} item(s) without their details. See all of them with: agentos ui`);
  return text;
}

/** Opens an address or a file. False: there is no program for it. */
function openInBrowser(target: string): Promise<boolean> {
  const command = process.platform === 'darwin' ? 'open' : 'xdg-open';
  return new Promise((resolve) => {
    const child = spawn(command, [target], { stdio: 'ignore', detached: true });
    child.on('error', () => resolve(false));
    child.on('spawn', () => {
      child.unref();
      resolve(true);
    });
  });
}
