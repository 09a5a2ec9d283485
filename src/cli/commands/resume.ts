import { existsSync } from 'node:fs';
import { join, relative } from 'node:path';
import { codeOf, usageError } from '../../core/errors.ts';
import { EXIT } from '../../core/exit-code.ts';
import { type ItemId, parseItemId } from '../../core/ids.ts';
import { endedWell } from '../../core/item.ts';
import { definedOnly } from '../../core/json.ts';
import type { PipelineName } from '../../core/paths.ts';
import { MAX_PARALLEL } from '../../core/plan.ts';
import { messageOf } from '../../core/wording.ts';
import { printable } from '../../output/terminal.ts';
import { isRecordedHere, type RunRecord, readableRun, runIds } from '../../run/history/run-files.ts';
import { readRun } from '../../run/history/run-history.ts';
import type { Project } from '../../run/project.ts';
import { namesProgram } from '../../run/trust.ts';
import { printJsonLine } from '../print.ts';
import { type BatchFlags, type BatchRequest, projectOf, requestOf } from '../request.ts';
import { exitCodeOfEnd, showRun } from '../show-run.ts';
import { watchInterrupts } from '../signals.ts';
import { version } from '../version.ts';
import { emptySummary, runBatch } from './batch.ts';

/** Resumes the unfinished items of a run, with its flags and models unless others are given. */
export async function resumeCommand(run: string | undefined, flags: BatchFlags): Promise<number> {
  const given = requestOf('resume', [], flags);
  const project = await projectOf(flags);
  const attached = given.database === null ? undefined : await attachedRun(project, given, run, given.database);
  if (attached !== undefined) return attached;
  const record = await readableRun(project.paths, run);
  if (record === null) throw usageError('There is no run to resume.', 'agentos lld --all starts one.');
  const { runId, workflow } = record;
  const items = (await readRun(project.paths, runId))?.items ?? [];
  const { evaluation, config } = record.request;
  if (!flags.trust && !isRecordedHere(project.paths.base, runId, record)) refusePrograms(runId, record);
  if (evaluation !== undefined && (flags.drafter ?? flags.reviewer ?? flags.maxRounds ?? flags.offline) !== undefined)
    throw usageError('The candidates of an evaluation can’t be changed.', 'Compare others with: agentos eval');
  const unfinished = items.filter((item) => !endedWell(item.status));
  // An evaluation is compared as a whole; its finished items cost nothing.
  const again = evaluation === undefined || unfinished.length === 0 ? unfinished : items;
  const source = await projectOf({ ...flags, source: flags.source ?? config.source });
  const ids: ItemId[] = [];
  for (const { id: text } of again) {
    const id = parseItemId(text);
    const gone = evaluation === undefined ? await goneBecause(source, workflow, id) : null;
    if (gone === null) ids.push(id);
    else process.stderr.write(`${printable(`Skipping ${id}: ${gone}`)}\n`);
  }
  if (ids.length > 0) return runBatch(workflow, resumed(record, ids, flags), runId);
  const why = ids.length < again.length ? 'is done, or gone' : 'is done';
  (flags.json ? process.stderr : process.stdout).write(`Nothing to do: every item of ${runId} ${why}.\n`);
  if (flags.json) printJsonLine(emptySummary({ workflow, parallel: given.workers }));
  return EXIT.ok;
}

/** Follows a run that continues at the hub: the named one, or the last. Undefined: it is not at the hub. */
async function attachedRun(
  project: Project,
  given: BatchRequest,
  run: string | undefined,
  databaseUrl: string,
): Promise<number | undefined> {
  const { attachToHub, openHubRuns } = await import('../../run/hub/hub-sync.ts');
  const wanted = run ?? (await runIds(project.paths))[0];
  const found = (await openHubRuns(project)).find(({ runId }) => runId === wanted);
  if (found === undefined) return undefined;
  // With the run's own flags, which say what to post where.
  const asked = await projectOf(given.flags, { ...found.request.config, ...definedOnly({ ...given.settings }) });
  using interrupt = watchInterrupts();
  const end = await showRun(asked, given, async (_, subscribers) => {
    const place = { project: asked, databaseUrl, version, interrupt, subscribers };
    const summary = await attachToHub(place, found);
    return summary === undefined ? null : (summary ?? 'left');
  });
  return end === null ? undefined : exitCodeOfEnd(end);
}

/** Flags need no trust, but those in a record from another folder were not given by this user. */
function refusePrograms(runId: string, { models, request }: RunRecord): void {
  const { drafter, reviewer, implementer, sandbox } = request.config;
  const { drafters = [], reviewers = [] } = request.evaluation ?? {};
  const named = [...Object.values(models), drafter, reviewer, implementer, ...drafters, ...reviewers];
  const programs = new Set(named.filter((model) => model !== undefined && namesProgram(model)));
  if (programs.size === 0 && sandbox !== 'off') return;
  const what = programs.size === 0 ? 'without a sandbox' : [...programs].join(', ');
  const reason = `The run ${runId} was recorded in another folder and would run ${printable(what)}.`;
  throw usageError(reason, `If it is yours: agentos resume ${runId} --trust`);
}

/** Why an item can’t be resumed: its issue or brief is gone. Null: it can. */
async function goneBecause(
  { paths, config, source }: Project,
  workflow: PipelineName,
  id: ItemId,
): Promise<string | null> {
  if (workflow === 'land' || workflow === 'react') return null;
  if (config.remote.source !== null && workflow !== 'issue') {
    return source.look(id).then(
      () => null,
      (error: unknown) => {
        if (codeOf(error) !== 'issue-not-taken' && codeOf(error) !== 'issue-missing') throw error;
        return messageOf(error);
      },
    );
  }
  if (workflow === 'implement') return null;
  const file = workflow === 'issue' ? join(paths.briefs, `${id}.md`) : paths.issue(id);
  return existsSync(file) ? null : `${relative(paths.repository, file)} is gone.`;
}

/** The request of the run for these items, with the flags that are given now. */
function resumed({ models, request, workflow }: RunRecord, ids: ItemId[], given: BatchFlags): BatchRequest {
  const { until, again, evaluation, landing, parallel, haltAfter, config } = request;
  const recorded: BatchFlags = { ...config, until, again, halt: haltAfter ?? undefined };
  if (parallel > 1) recorded.parallel = Math.min(MAX_PARALLEL, parallel);
  // --offline takes every role, so a retry can't name a model beside it.
  const isNamed = (given.drafter ?? given.reviewer ?? given.implementer) !== undefined;
  if (given.offline) Object.assign(recorded, { drafter: undefined, reviewer: undefined, implementer: undefined });
  else if (config.offline && isNamed) Object.assign(recorded, models, { offline: undefined });
  const flags: BatchFlags = { ...recorded, ...definedOnly<unknown>({ ...given }) };
  const whole = requestOf(workflow, ids, flags);
  // What the configuration said when the run began still holds.
  const settings =
    evaluation === undefined ? { ...models, ...definedOnly<unknown>({ ...whole.settings }) } : whole.settings;
  return { ...whole, settings, evaluation, landing };
}
