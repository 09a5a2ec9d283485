import { join, relative, resolve } from 'node:path';
import { AgentosError } from '../../core/errors.ts';
import { EXIT } from '../../core/exit-code.ts';
import type { Paths } from '../../core/paths.ts';
import { writeFileAtomic } from '../../process/files.ts';
import { isTampered } from '../../run/audit.ts';
import { lookingBack, type Project } from '../../run/project.ts';
import { readRecord, runIds } from '../../run/run-history.ts';
import { createRuns } from '../../ui/data/runs.ts';
import { htmlReport } from '../../ui/report.ts';
import { markdownReport } from '../../ui/report-markdown.ts';
import { openInBrowser } from '../browser.ts';
import { type PlaceFlags, projectOf } from '../request.ts';
import { version } from '../version.ts';

interface ReportFlags extends PlaceFlags {
  format: 'html' | 'md';
  output?: string;
  open?: boolean;
}

/** A run as one file. HTML goes to the run's folder unless a place is named; Markdown is for a pipe, and goes to stdout. */
export async function reportCommand(which: string | undefined, flags: ReportFlags): Promise<number> {
  const project = lookingBack(await projectOf(flags));
  const { paths, mask } = project;
  const runId = await runToReport(paths, which);
  if (await isTampered(paths.run(runId).directory))
    process.stderr.write(`Files of this run are not as it wrote them: agentos check --audit ${runId}\n`);
  const text =
    flags.format === 'md'
      ? mask(await markdownOf(project, runId))
      : await htmlReport({ project, version, runId, now: new Date() });
  const named = flags.output ?? (flags.format === 'md' ? '-' : null);
  if (named === '-') {
    process.stdout.write(text);
    return EXIT.ok;
  }
  const file = named === null ? join(paths.run(runId).directory, 'report.html') : resolve(named);
  await writeFileAtomic(file, text);
  const way = relative(process.cwd(), file);
  process.stdout.write(`${way.startsWith('..') ? file : way}\n`);
  if (flags.open && !(await openInBrowser(file)))
    process.stderr.write('No browser was found: open the file yourself.\n');
  return EXIT.ok;
}

async function markdownOf(project: Project, runId: string): Promise<string> {
  const runs = createRuns(project);
  const [folded, brief] = [await runs.folded(runId), await runs.brief(runId)];
  if (folded === null || brief === null) return '';
  const isChanged = await isTampered(project.paths.run(runId).directory);
  return `${markdownReport(folded, brief, isChanged)}\n`;
}

/** The one that is named, or the last that can be read. */
async function runToReport(paths: Paths, which: string | undefined): Promise<string> {
  const known = await runIds(paths);
  if (which !== undefined && !known.includes(which)) throw new AgentosError({ code: 'run-missing', run: which });
  for (const runId of which === undefined ? known : [which])
    if ((await readRecord(paths, runId)) !== null) return runId;
  if (which !== undefined)
    throw new AgentosError({ code: 'run-unreadable', run: which, file: paths.run(which).record });
  const hint = 'agentos lld --all starts one.';
  throw new AgentosError({ code: 'usage', reason: 'There is no run to report on.', hint });
}
