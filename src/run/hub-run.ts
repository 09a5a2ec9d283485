import { rm } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '../core/clock.ts';
import { AgentosError, type MissingKey, toErrorRecord } from '../core/errors.ts';
import type { Subscriber } from '../core/events.ts';
import { type Item, itemOfKey, keyOf } from '../core/item.ts';
import { isAgent, keyVendorOf, parseModelSpec } from '../core/model-spec.ts';
import type { Plan } from '../core/plan.ts';
import { newRunState } from '../core/run-state.ts';
import type { Summary } from '../core/summary.ts';
import { wordingOf } from '../core/wording.ts';
import { createGit } from '../git/git.ts';
import { headCommit } from '../git/repository.ts';
import { type SubmittedItem, stopRun } from '../hub/backlog.ts';
import { patiently } from '../hub/database.ts';
import { type Delivered, deliver } from '../hub/delivery.ts';
import type { TreeFiles } from '../hub/document-trees.ts';
import { type Cursors, lastPoolEvent, type ReadEvents, readPoolEvents, readRunEvents } from '../hub/item-events.ts';
import type { RunSettings } from '../hub/run-settings.ts';
import { forgetSubmitted, type HubConnection, repositoryName, submit, submittedFiles } from '../hub/submitter.ts';
import { deleteCheckpoint, writeCheckpoint } from '../journal/checkpoint-copy.ts';
import { inspectJournal } from '../journal/inspect.ts';
import { noteCopy, readJournal } from '../journal/postgres.ts';
import { openRunFiles } from '../output/run-files.ts';
import { writeFileAtomic } from '../process/files.ts';
import { prepareStateFolder, requireOwnFolder } from '../process/state-folder.ts';
import { createDirectorySource } from '../source/directory.ts';
import { inputHash } from './decide.ts';
import { createEmitter, type Emitter } from './emitter.ts';
import { coordinatedItem, endedAlready, isOpen, nextStage, type Pipeline, rolesOf, type StageOptions, stagesAhead } from './pipeline.ts';
import type { Project } from './project.ts';
import type { RunOptions } from './run.ts';
import { outcomeOf, runIdOf, runRecord, storeSummary } from './run-record.ts';
import type { Interruption } from './stops.ts';

/** What a run on a hub needs beyond a local one. */
export interface HubRunOptions {
  connection: HubConnection;
  /** Leave it running when it is submitted. */
  detach: boolean;
  /** So many of its items at once; null: as many as machines take. */
  parallel: number | null;
}

/** Submits the items and follows them. Null: it was left running. */
export async function runOnHub(options: RunOptions, hub: HubRunOptions): Promise<Summary | null> {
  const { project, plan, interrupt } = options;
  const { paths, mask } = project;
  const startedAt = new Date();
  await requireOwnFolder(paths);
  await prepareStateFolder(paths.base);
  await project.designs.save();
  const runId = runIdOf(startedAt, paths.base);
  const token = hub.connection.tokenOf(runId);
  const git = createGit(paths.repository, project.childEnv);
  const repository = await repositoryName(git);
  const base = await headCommit(git);
  const stages: StageOptions = { project, pipeline: options.pipeline, runId, accessOf: () => null };
  const { items, settings } = await submission(options, hub, stages, base);
  requireKeys(options, hub.connection);
  const record = {
    ...(runRecord(options, runId, startedAt, null) as object),
    hub: { database: hub.connection.database.name, repository },
    retryFlags: options.retryFlags,
  };
  await writeFileAtomic(paths.run(runId).record, `${mask(JSON.stringify(record, null, 2))}\n`);
  const run = { id: runId, repository, checkout: hub.connection.checkout, token, version: options.version, settings };
  const journals = items.map(({ key }) => {
    const item = itemOf(key);
    return { key, steps: inspectJournal(paths.checkpoint(item.workflow, item.id))?.all ?? [] };
  });
  const placed = await submit(
    hub.connection,
    {
      run,
      items,
      journals,
      git,
      repositoryFolder: paths.repository,
      copy: settings.stages.some(({ workflow }) => workflow === 'implement') ? project.config.implement.copy : [],
      itemsOf: items.flatMap(({ key }) => settings.stages.map(({ workflow }) => ({ workflow, id: itemOf(key).id }))),
    },
    interrupt.polite,
  );
  const refused = placed.filter(({ item }) => item === null).map(({ key }) => itemOf(key));
  const followed = { ...options, runId, startedAt, repository, refused };
  if (hub.detach) {
    await followHubRun(followed, hub.connection, 'look');
    return null;
  }
  return followHubRun(followed, hub.connection, 'follow');
}

function itemOf(key: string): Item {
  const item = itemOfKey(key);
  if (item === null) throw new TypeError(`${key} is no key of an item`);
  return item;
}

const NEEDS = /^needs:\s*([\w.-]{1,40})$/i;

/** What the hub and its machines have to know of the items, and of all their stages. */
async function submission(
  { project, pipeline, plan, haltAfter }: RunOptions,
  { parallel }: HubRunOptions,
  stages: StageOptions,
  base: string,
): Promise<{ items: SubmittedItem[]; settings: RunSettings }> {
  const { config, paths, childEnv } = project;
  const open = plan.items.filter(isOpen);
  const source = createDirectorySource(paths.issues);
  const { readPastCosts } = await import('./past-costs.ts');
  const past = open.some(({ state }) => state === 'resumed') ? await readPastCosts(paths, config.prices) : null;
  const items: SubmittedItem[] = [];
  const templates = new Map<string, Record<string, unknown>>();
  for (const planned of open) {
    const first = coordinatedItem(planned, planned, stages);
    const input: Record<string, object> = {};
    for (let at: typeof first | undefined = first; at !== undefined; ) {
      const { workflow } = itemOf(at.id);
      const whole = carried(at.input);
      const template = templates.get(workflow) ?? whole;
      templates.set(workflow, template);
      input[workflow] = Object.fromEntries(
        Object.entries(whole).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(template[name])),
      );
      // As if it had ended well: what would follow.
      const end = { id: at.id, status: 'succeeded', attempts: 1, durationMs: 0, reason: null, error: null, outputs: [] } as const;
      [at] = nextStage({ ...end, outputs: [] }, stages);
    }
    const labels = await source.read(planned.id).then(
      (issue) => issue.labels,
      () => [],
    );
    items.push({
      key: keyOf(planned),
      hash: await inputHash(paths, planned.workflow, planned.id),
      stage: pipeline.stages.findIndex(({ workflow }) => workflow === planned.workflow),
      needs: labels.flatMap((label) => NEEDS.exec(label)?.[1]?.toLowerCase() ?? []),
      after: first.after ?? [],
      exclusive: first.exclusive ?? [],
      input,
      paidUsd: past?.paidUsd(planned.id) ?? 0,
    });
  }
  const specs = pipeline.stages.map(({ roles }) => roles.map((role) => config.models[role]));
  const agents = specs.map((all) => all.map(parseModelSpec).flatMap((spec) => (isAgent(spec) && spec.command === null ? [spec.provider] : [])));
  const git = createGit(paths.repository, childEnv);
  const settings: RunSettings = {
    pipeline: pipeline.name,
    stages: pipeline.stages.map(({ workflow }, index) => ({
      workflow,
      models: specs[index] ?? [],
      needs: [...new Set(agents[index])],
      input: templates.get(workflow) ?? {},
    })),
    parallel,
    haltAfter,
    bounds: config.bounds,
    prices: config.prices,
    base,
    identity: await identityOf(git),
  };
  return {
    items: items.map((item) => ({ ...item, needs: [...new Set([...item.needs, ...(settings.stages[item.stage]?.needs ?? [])])] })),
    settings,
  };
}

/** Without what belongs to this machine. */
function carried(input: unknown): Record<string, unknown> {
  const { id: _, runId: __, repository: ___, base: ____, token: _____, endpoints: ______, fingerprints: _______, ...rest } = (
    typeof input === 'function' ? (input as () => unknown)() : input
  ) as Record<string, unknown>;
  return rest;
}

async function identityOf(git: ReturnType<typeof createGit>): Promise<RunSettings['identity']> {
  const ident = await git.text(['var', 'GIT_AUTHOR_IDENT']).catch(() => '');
  const [, name, email] = /^(.*?) ?<([^>]*)> \d+ [-+]\d+$/.exec(ident) ?? [];
  return name === undefined || email === undefined ? null : { name, email };
}

/** The hub's keys count, not those of this machine. */
function requireKeys({ project, pipeline, plan }: RunOptions, { facts }: HubConnection): void {
  const { config } = project;
  const missing = new Map<string, MissingKey>();
  for (const role of rolesOf(stagesAhead(pipeline, plan.items.filter(isOpen)))) {
    const vendor = keyVendorOf(parseModelSpec(config.models[role]), config.ownLogins);
    if (vendor === null || facts.vendors.includes(vendor)) continue;
    const known = missing.get(vendor);
    missing.set(vendor, { provider: `${vendor}, at the hub`, variables: [], roles: [...(known?.roles ?? []), role] });
  }
  if (missing.size > 0) throw new AgentosError({ code: 'key-missing', missing: [...missing.values()] });
}

export interface FollowedRun {
  project: Project;
  pipeline: Pipeline;
  plan: Plan;
  runId: string;
  startedAt: Date;
  repository: string;
  /** Under way there for another text. */
  refused: readonly Item[];
  retryFlags: string[];
  interrupt: Interruption;
  subscribers: Subscriber[];
}

const LOOK_EVERY_MS = 300;
/** After an interruption: how long its items may take to end. */
const STOPPED_MS = 20_000;

/**
 * Reads what happened to the items of a run from the first event on, into the files and subscribers of a local run, and brings their files
 * home. `follow`: until all have ended; `look`: as far as it is now. Null: it has not ended.
 */
export async function followHubRun(run: FollowedRun, connection: HubConnection, how: 'follow' | 'look'): Promise<Summary | null> {
  const { project, pipeline, plan, runId, startedAt, interrupt, refused } = run;
  const { paths, mask } = project;
  const { database } = connection;
  const runPaths = paths.run(runId);
  const startedMs = systemClock.now();
  // All of it is read again, so that nothing is there twice and nothing is missing.
  for (const path of [runPaths.events, `${runPaths.directory}/logs`, `${runPaths.directory}/audit`])
    await rm(path, { recursive: true, force: true });
  const state = newRunState(plan.items);
  const emitter = createEmitter(state, pipeline, paths.repository);
  const files = openRunFiles(runPaths, mask, ({ path, reason }) =>
    emitter.run({ type: 'warning', text: wordingOf({ code: 'output-unwritable', path, reason }).message }),
  );
  emitter.subscribe(files.subscriber, ...run.subscribers);
  const { workflow, parallel, models, groups } = plan;
  const items = plan.items.map((item) => item.id);
  emitter.run({ type: 'run-started', runId, workflow, items, parallel, models, groups }, startedAt.toISOString());
  for (const text of plan.notes) emitter.warn(text);
  for (const item of plan.items) {
    const end = await endedAlready(item, project, pipeline);
    if (end !== null) emitter.item(item, { type: 'item-finished', ...end });
  }
  for (const item of refused) {
    const error = toErrorRecord(new AgentosError({ code: 'item-elsewhere', workflow: item.workflow, id: item.id }));
    emitter.item(item, { type: 'item-finished', status: 'failed', attempts: 0, durationMs: 0, reason: null, error, outputs: [] });
  }
  const signal = interrupt.now;
  const reader = await openReader(run, connection, emitter, signal);
  let isStopping = false;
  let until = Number.POSITIVE_INFINITY;
  while (!signal.aborted && performance.now() < until) {
    const isOver = await reader.isOver();
    // Asked first: what an item's last event says was written with its end.
    if (await reader.read()) continue;
    if (isOver) break;
    if (how === 'look') return left(files);
    if (interrupt.polite.aborted && !isStopping) {
      // A closed terminal leaves it running.
      if (interrupt.by() === 'SIGHUP') return left(files);
      isStopping = true;
      until = performance.now() + STOPPED_MS;
      emitter.run({ type: 'interrupted', signal: interrupt.by() ?? 'SIGINT' });
      await patiently(signal, () => stopRun(database, runId, toErrorRecord(interrupt.polite.reason)));
    }
    await Promise.race([sleep(LOOK_EVERY_MS, undefined, { ref: true }), isStopping ? null : aborted(interrupt.polite)].filter(Boolean));
  }
  const summary = await outcomeOf(run, state, { runId, startedAt });
  const unstored = await storeSummary(paths.base, runPaths, '', mask(`${JSON.stringify(summary, null, 2)}\n`));
  if (unstored !== null) emitter.run({ type: 'warning', text: wordingOf(unstored).message });
  emitter.run({ type: 'run-finished', runId, exitCode: summary.exitCode, durationMs: systemClock.now() - startedMs });
  files.close();
  await forgetSubmitted(createGit(paths.repository, project.childEnv), runId);
  await database.rows('UPDATE agentos.runs SET collected_at = clock_timestamp() WHERE id = $1', [runId]).catch(() => undefined);
  return summary;
}

function left(files: { close(): void }): null {
  files.close();
  return null;
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

interface Reader {
  /** Whether there was anything new. */
  read(): Promise<boolean>;
  /** Every item of the run has ended, and what follows it too. */
  isOver(): Promise<boolean>;
}

async function openReader(run: FollowedRun, connection: HubConnection, emitter: Emitter, signal: AbortSignal): Promise<Reader> {
  const { project, runId, repository } = run;
  const { paths, childEnv } = project;
  const { database, checkout } = connection;
  const sql = database.patient(signal);
  const git = createGit(paths.repository, childEnv);
  const remote = connection.remoteFor(connection.tokenOf(runId), signal);
  const cursors: Cursors = new Map();
  let poolEvent = await lastPoolEvent(sql);
  let submitted: TreeFiles | null = null;

  const bringHome = async (batch: readonly ReadEvents[]): Promise<Map<number, Delivered>> => {
    const ended = batch.filter(({ events }) => events.some(({ type }) => type === 'item-finished'));
    if (ended.length === 0) return new Map();
    const results = await sql.rows<{ id: number; result: string | null }>(
      'SELECT id, result FROM agentos.items WHERE id = ANY($1)',
      [ended.map(({ item }) => item)],
    );
    submitted ??= await submittedFiles(git, runId);
    const delivered = await deliver(
      { git, paths, runId, remote, repository, submitted },
      ended.map(({ item, key }) => ({
        item: itemOf(key),
        itemId: item,
        hasResult: results.some(({ id, result }) => id === item && result !== null),
      })),
    );
    for (const { key } of ended) {
      const item = itemOf(key);
      const file = paths.checkpoint(item.workflow, item.id);
      const steps = await readJournal(sql, repository, key);
      if (steps === null || steps.length === 0) deleteCheckpoint(file);
      else {
        await writeCheckpoint(file, steps);
        await noteCopy(sql, repository, key, checkout);
      }
    }
    return delivered;
  };

  return {
    async read() {
      for (const { id, event } of await readPoolEvents(sql, poolEvent)) {
        poolEvent = id;
        emitter.run(event);
      }
      const batch = await readRunEvents(sql, runId, cursors);
      const delivered = await bringHome(batch);
      for (const { item, key, events } of batch) {
        const { moved, warnings } = delivered.get(item) ?? { moved: new Map<string, string>(), warnings: [] };
        for (const text of warnings) emitter.run({ type: 'warning', text });
        const placed = (path: string): string => moved.get(path) ?? path;
        for (const { at, ...event } of events) {
          if (event.type === 'item-finished') emitter.item(itemOf(key), { ...event, outputs: event.outputs.map(placed) }, at);
          else if (event.type === 'file-written') emitter.item(itemOf(key), { ...event, path: placed(event.path) }, at);
          else emitter.item(itemOf(key), event, at);
        }
      }
      return batch.length > 0;
    },
    async isOver() {
      const [row] = await sql.rows<{ left: number }>(
        `SELECT count(*) AS left FROM agentos.run_items o JOIN agentos.items i ON i.id = o.item
          WHERE o.run = $1 AND (i.state <> 'ended' OR NOT i.is_handled)`,
        [runId],
      );
      return row?.left === 0;
    },
  };
}
