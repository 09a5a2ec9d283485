import { existsSync } from 'node:fs';
import { join, relative } from 'node:path';
import { z } from 'zod';
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
import { projectOf } from '../place.ts';
import { type BatchRequest, isLocal, parseBatchFlags, retryFlagsOf } from '../request.ts';
import { followToTheEnd } from '../show-run.ts';
import { version } from '../version.ts';
import { emptySummary, runBatch } from './batch.ts';

const NO_ROLES = { drafter: undefined, reviewer: undefined, implementer: undefined };

/** Resumes the unfinished items of a run, with its flags and models unless others are given. */
export async function resumeCommand(run: string | undefined, rawFlags: unknown): Promise<number> {
  // Ids come from the run, so the flags are parsed as if one were named.
  const given = parseBatchFlags('resume', ['resume'], rawFlags);
  const project = await projectOf(given.place);
  const attached = given.database === null ? undefined : await attachedRun(project, given, run, given.database);
  if (attached !== undefined) return attached;
  const record = await readableRun(project.paths, run);
  if (record === null) throw usageError('There is no run to resume.', 'agentos lld --all starts one.');
  const { runId, workflow } = record;
  const items = (await readRun(project.paths, runId))?.items ?? [];
  const { evaluation } = record.request;
  if (!given.trust && !isRecordedHere(project.paths.base, runId, record)) refusePrograms(runId, record);
  const { drafter, reviewer, maxRounds, offline } = given.config;
  if (evaluation !== undefined && (drafter ?? reviewer ?? maxRounds ?? offline) !== undefined) {
    throw usageError('The candidates of an evaluation can’t be changed.', 'Compare others with: agentos eval');
  }
  const unfinished = items.filter((item) => !endedWell(item.status));
  // An evaluation is compared as a whole; its finished items cost nothing.
  const again = evaluation === undefined || unfinished.length === 0 ? unfinished : items;
  const left = again.map((item) => parseItemId(item.id));
  const source = given.config.source ?? record.request.config.source;
  const gone = evaluation === undefined ? await goneItems(given, workflow, left, source) : new Map<ItemId, string>();
  for (const [id, why] of gone) process.stderr.write(`${printable(`Skipping ${id}: ${why}`)}\n`);
  const ids = left.filter((id) => !gone.has(id));
  if (ids.length > 0) return runBatch(workflow, requestOf(given, record, ids, rawFlags), runId);
  const why = gone.size > 0 ? 'is done, or gone' : 'is done';
  (given.json ? process.stderr : process.stdout).write(`Nothing to do: every item of ${runId} ${why}.\n`);
  if (given.json)
    process.stdout.write(`${JSON.stringify(emptySummary({ workflow, parallel: given.parallel.workers }))}\n`);
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
  const asked = await projectOf(given.place, { ...found.request.config, ...definedOnly({ ...given.config }) });
  return followToTheEnd(asked, given, (interrupt, subscribers) =>
    attachToHub({ project: asked, databaseUrl, version, interrupt, subscribers }, found),
  );
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

/** The items whose issue, brief or LLD is gone, each with the reason. */
async function goneItems(
  { place }: BatchRequest,
  workflow: PipelineName,
  ids: readonly ItemId[],
  source: string | undefined,
): Promise<Map<ItemId, string>> {
  const project = await projectOf(place, definedOnly({ source }));
  const gone = new Map<ItemId, string>();
  for (const id of ids) {
    const why = await goneBecause(project, workflow, id);
    if (why !== null) gone.set(id, why);
  }
  return gone;
}

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

function requestOf(
  given: BatchRequest,
  { models, request, workflow }: RunRecord,
  ids: ItemId[],
  rawFlags: unknown,
): BatchRequest {
  const flags = z.looseObject({}).parse(rawFlags);
  const asked = Math.min(MAX_PARALLEL, request.parallel);
  const parallel =
    'parallel' in flags ? given.parallel : { workers: asked, asked, limit: request.parallel > 1 ? asked : null };
  const haltAfter = 'halt' in flags ? given.haltAfter : request.haltAfter;
  const overrides = definedOnly({ ...given.config });
  const isOffline = given.config.offline === true;
  const recordedModels = isOffline || request.evaluation !== undefined ? {} : { ...models, offline: undefined };
  const config = { ...request.config, ...recordedModels, ...overrides };
  // --offline takes every role, so a retry can't name a model beside it.
  const isMixed = request.config.offline && (given.config.drafter ?? given.config.reviewer ?? given.config.implementer);
  const recorded = isMixed ? { ...request.config, offline: undefined, ...models } : request.config;
  const said = { ...recorded, ...(isOffline ? NO_ROLES : {}), ...overrides };
  const { until, again, evaluation, landing } = request;
  const database = isLocal(workflow) ? null : given.database;
  const resumed = { ...given, parallel, haltAfter, again, until, evaluation, landing, ids, config, database };
  return { ...resumed, retryFlags: retryFlagsOf({ ...resumed, config: said }) };
}
