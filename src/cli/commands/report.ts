import { join, relative, resolve } from 'node:path';
import { usageError } from '../../core/errors.ts';
import { EXIT } from '../../core/exit-code.ts';
import { printable } from '../../output/terminal.ts';
import { writeFileAtomic } from '../../process/files.ts';
import { isTampered } from '../../run/history/audit.ts';
import { readableRun } from '../../run/history/run-files.ts';
import { type Project, withCachedIssues } from '../../run/project.ts';
import { createRuns } from '../../ui/data/runs.ts';
import { htmlReport, markdownReport } from '../../ui/report.ts';
import { openInBrowser } from '../browser.ts';
import { type PlaceFlags, projectOf } from '../place.ts';
import { version } from '../version.ts';

interface ReportFlags extends PlaceFlags {
  format: 'html' | 'md';
  output?: string;
  open?: boolean;
}

/** A run as one file. HTML goes to the run's folder unless `--output` names a file, Markdown to stdout. */
export async function reportCommand(which: string | undefined, flags: ReportFlags): Promise<number> {
  const project = withCachedIssues(await projectOf(flags));
  const { paths, mask } = project;
  const record = await readableRun(paths, which);
  if (record === null) throw usageError('There is no run to report on.', 'agentos lld --all starts one.');
  const { runId } = record;
  const isChanged = await isTampered(paths.run(runId).directory);
  if (isChanged) process.stderr.write(`Files of this run were changed. See: agentos check --audit ${runId}\n`);
  const { text, leftOut } =
    flags.format === 'md'
      ? { text: mask(printable(await markdownOf(project, runId, isChanged))), leftOut: 0 }
      : await htmlReport({ project, version, runId, now: new Date() });
  if (leftOut > 0)
    process.stderr.write(
      `The report lists ${leftOut} item(s) without their details. See all of them with: agentos ui\n`,
    );
  const named = flags.output ?? (flags.format === 'md' ? '-' : null);
  if (named === '-') {
    process.stdout.write(text);
    return EXIT.ok;
  }
  const file = named === null ? join(paths.run(runId).directory, 'report.html') : resolve(named);
  await writeFileAtomic(file, text);
  const way = relative(process.cwd(), file);
  process.stdout.write(`${way.startsWith('..') ? file : way}\n`);
  if (flags.open && !(await openInBrowser(file))) process.stderr.write('No browser found. Open the file yourself.\n');
  return EXIT.ok;
}

async function markdownOf(project: Project, runId: string, isChanged: boolean): Promise<string> {
  const runs = createRuns(project);
  const [folded, brief] = [await runs.folded(runId), await runs.brief(runId)];
  return folded === null || brief === null ? '' : `${markdownReport(folded, brief, isChanged)}\n`;
}
