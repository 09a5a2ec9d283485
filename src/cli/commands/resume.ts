import { existsSync } from 'node:fs';
import { join, relative } from 'node:path';
import { z } from 'zod';
import { AgentosError, codeOf, toErrorRecord } from '../../core/errors.ts';
import { EXIT } from '../../core/exit-code.ts';
import { type ItemId, parseItemId } from '../../core/ids.ts';
import { definedOnly } from '../../core/json.ts';
import type { Paths, PipelineName } from '../../core/paths.ts';
import { MAX_PARALLEL } from '../../core/plan.ts';
import { wordingOf } from '../../core/wording.ts';
import { printable } from '../../output/terminal.ts';
import { pipelineNamed } from '../../run/batches.ts';
import type { Project } from '../../run/project.ts';
import { type RunHistory, type RunRecord, readRecord, readRun, runIds } from '../../run/run-history.ts';
import { type BatchRequest, isLocal, parseBatchFlags, projectOf, retryFlagsOf } from '../request.ts';
import { version } from '../version.ts';
import { emptySummary, followToTheEnd, runBatchCommand } from './batch.ts';

const NO_ROLES = { drafter: undefined, reviewer: undefined, implementer: undefined };

/** Ends that need no further run. */
const DONE = new Set(['succeeded', 'skipped']);

/** Resumes the items of a run that are not done, with its flags and models unless others are given. */
export async function resumeCommand(run: string | undefined, rawFlags: unknown): Promise<number> {
  // Ids come from the run, so the flags are read as if one were named.
  const given = parseBatchFlags('resume', ['resume'], rawFlags);
  const project = await projectOf(given.place);
  const { paths } = project;
  const attached = given.database === null ? undefined : await attachedRun(project, given, run, given.database);
  if (attached !== undefined) return attached;
  const known = await runIds(paths);
  if (run !== undefined && !known.includes(run)) throw new AgentosError({ code: 'run-missing', run });
  const found = await firstReadable(paths, run === undefined ? known : [run]);
  if (found === null && run !== undefined)
    throw new AgentosError({ code: 'run-unreadable', run, file: paths.run(run).record });
  if (found === null) {
    const hint = 'agentos lld --all starts one.';
    throw new AgentosError({ code: 'usage', reason: 'There is no run to resume.', hint });
  }
  const { history, record } = found;
  const { runId, workflow } = history;
  const { evaluation } = record.request;
  const unfinished = history.items.filter((item) => !DONE.has(item.status));
  // An evaluation is compared as a whole; what is finished costs nothing more.
  const again = evaluation === undefined || unfinished.length === 0 ? unfinished : history.items;
  const left = again.map((item) => parseItemId(item.id));
  const { drafter, reviewer, maxRounds, offline } = given.config;
  if (evaluation !== undefined && (drafter ?? reviewer ?? maxRounds ?? offline) !== undefined) {
    const reason = 'The candidates of an evaluation stay as they are.';
    throw new AgentosError({ code: 'usage', reason, hint: 'Compare others with: agentos eval' });
  }
  const source = given.config.source ?? record.request.config.source;
  const gone = new Map<string, string>();
  if (evaluation === undefined) {
    const project = await projectOf(given.place, definedOnly({ source }));
    for (const id of left) {
      const why = await goneBecause(project, workflow, id);
      if (why !== null) gone.set(id, why);
    }
  }
  for (const [id, why] of gone) process.stderr.write(`${printable(`Skipping ${id}: ${why}`)}\n`);
  const ids = left.filter((id) => !gone.has(id));
  if (ids.length === 0) {
    (given.json ? process.stderr : process.stdout).write(
      `Nothing to do: every item of ${runId} is done${gone.size > 0 ? ', or gone' : ''}.\n`,
    );
    if (given.json)
      process.stdout.write(`${JSON.stringify(emptySummary({ workflow, parallel: given.parallel.workers }))}\n`);
    return EXIT.ok;
  }
  return runBatchCommand(pipelineNamed(workflow, record.request), requestOf(given, record, ids, rawFlags), runId);
}

/** Follows a run that was left running at the hub: the one that is named, or the last if it is one. Undefined: there is nothing to follow. */
async function attachedRun(
  project: Project,
  given: BatchRequest,
  run: string | undefined,
  databaseUrl: string,
): Promise<number | undefined> {
  const { attachToHub, openHubRuns } = await import('../../run/hub-sync.ts');
  const wanted = run ?? (await runIds(project.paths))[0];
  const found = (await openHubRuns(project)).find(({ runId }) => runId === wanted);
  if (found === undefined) return undefined;
  // With its flags: they say what is posted where.
  const asked = await projectOf(given.place, { ...found.record.request.config, ...definedOnly({ ...given.config }) });
  return followToTheEnd(asked, given, (interrupt, subscribers) =>
    attachToHub({ project: asked, databaseUrl, version, interrupt, subscribers }, found),
  );
}

/** What an item of this kind of run is made from may be there no longer; null: it is. */
async function goneBecause(
  { paths, config, source }: Project,
  workflow: PipelineName,
  id: ItemId,
): Promise<string | null> {
  if (config.remote.source !== null && !['issue', 'land', 'react'].includes(workflow)) {
    return source.look(id).then(
      () => null,
      (error: unknown) => {
        if (codeOf(error) !== 'issue-not-taken' && codeOf(error) !== 'issue-missing') throw error;
        return wordingOf(toErrorRecord(error).problem).message;
      },
    );
  }
  if (workflow === 'implement' || workflow === 'land' || workflow === 'react') return null;
  const file = workflow === 'issue' ? join(paths.briefs, `${id}.md`) : paths.issue(id);
  return existsSync(file) ? null : `${relative(paths.repository, file)} is gone.`;
}

/** A run that was killed in its first moment, or whose folder was deleted under it, has no record to resume. */
async function firstReadable(
  paths: Paths,
  runIds: readonly string[],
): Promise<{ history: RunHistory; record: RunRecord } | null> {
  for (const runId of runIds) {
    const [history, record] = await Promise.all([readRun(paths, runId), readRecord(paths, runId)]);
    if (history !== null && record !== null) return { history, record };
  }
  return null;
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
  const overrides = Object.fromEntries(Object.entries(given.config).filter(([, value]) => value !== undefined));
  const modelsAgain = given.config.offline || request.evaluation !== undefined ? {} : { ...models, offline: undefined };
  const config = { ...request.config, ...modelsAgain, ...overrides };
  // --offline takes every role, so that a retry can't name one beside it.
  const isMixed = request.config.offline && (given.config.drafter ?? given.config.reviewer ?? given.config.implementer);
  const recorded = isMixed ? { ...request.config, offline: undefined, ...models } : request.config;
  const said = { ...recorded, ...(given.config.offline ? NO_ROLES : {}), ...overrides };
  const { until, again, evaluation, landing } = request;
  const how = { parallel, haltAfter, again, ...definedOnly({ until, evaluation, landing }) };
  const database = isLocal(workflow) ? null : given.database;
  return {
    ...given,
    ...how,
    ids,
    config,
    database,
    retryFlags: retryFlagsOf({
      ...how,
      ...definedOnly({ notify: given.notify }),
      place: given.place,
      trust: given.trust,
      database,
      config: said,
    }),
  };
}
