import { AgentosError, type MissingKey } from '../core/errors.ts';
import type { ItemId } from '../core/ids.ts';
import { keyOf } from '../core/item.ts';
import { listed } from '../core/lines.ts';
import { isAgent, keyVendorOf, parseModelSpec } from '../core/model-spec.ts';
import type { Plan, PlannedItem } from '../core/plan.ts';
import type { Summary } from '../core/summary.ts';
import { createGit } from '../git/git.ts';
import { headCommit } from '../git/repository.ts';
import type { SubmittedItem } from '../hub/backlog.ts';
import { readHub } from '../hub/hub-link.ts';
import { listMachines, SANDBOX_TAG } from '../hub/machines.ts';
import type { RunSettings } from '../hub/run-settings.ts';
import { type HubConnection, repositoryName, submit } from '../hub/submitter.ts';
import { inspectJournal } from '../journal/inspect.ts';
import { writeFileAtomic } from '../process/files.ts';
import { prepareStateFolder, requireOwnFolder } from '../process/state-folder.ts';
import { readPromptFiles } from '../prompts/prompts.ts';
import type { Issue } from '../source/port.ts';
import { inputHash } from './decide.ts';
import { followHubRun } from './hub-follow.ts';
import {
  castsOf,
  coordinatedItem,
  doneElsewhere,
  isOpen,
  itemOf,
  nextStage,
  rolesOf,
  type StageOptions,
  stagesAhead,
} from './pipeline.ts';
import { openPosting } from './posting.ts';
import type { RunOptions } from './run.ts';
import { runIdOf, runRecord } from './run-record.ts';
import { startsPrograms } from './run-sandbox.ts';

/** What `run.json` says of a run on a hub, beyond what it says of every run. */
export interface HubRecord {
  /** Where it is, without the password. */
  database: string;
  repository: string;
  /** False: it was killed before the hub had its items. */
  isSubmitted: boolean;
  retryFlags: string[];
  plan: Plan;
  /** It was submitted elsewhere, and is only shown here. */
  isShownOnly?: boolean;
}

/** What a run on a hub needs beyond a local one. */
export interface HubRunOptions {
  connection: HubConnection;
  /** Leave it running when it is submitted. */
  detach: boolean;
  /** So many of its items at once; null: as many as machines take. */
  parallel: number | null;
}

/** Submits the items and follows them. Null: it was left running. */
export async function runOnHub(given: RunOptions, hub: HubRunOptions): Promise<Summary | null> {
  const { project, interrupt } = given;
  const { paths, mask } = project;
  const startedAt = new Date();
  // Before anything is paid for: what is to be written has to be writable.
  const openPublisher = await openPosting(project);
  await requireOwnFolder(paths);
  await prepareStateFolder(paths.base);
  await project.designs.save();
  await project.kept.keep();
  const runId = runIdOf(startedAt, paths.base);
  const token = hub.connection.tokenOf(runId);
  const git = createGit(paths.repository, project.childEnv);
  const repository = await repositoryName(git);
  const base = await headCommit(git);
  const started = new Map<ItemId, Issue>();
  const stages: StageOptions = {
    project,
    pipeline: given.pipeline,
    runId,
    // Each machine has its own, or none.
    sandbox: null,
    prompts: readPromptFiles(paths.prompts),
    fresh: new Map(),
    isSelected: given.request['all'] === true,
    onRead: (id, issue) => void started.set(id, issue),
    accessOf: () => null,
  };
  const { items, settings } = await submission(given, hub, stages, started, base);
  requireKeys(given, hub.connection);
  const open = given.plan.items.filter(isOpen);
  const mayRunPrograms = startsPrograms(given.pipeline, open, castsOf(project, given.pipeline, open));
  const plan = await planFor(given.plan, hub, items, mayRunPrograms && project.config.sandbox.mode === 'auto');
  const options = { ...given, plan };
  const recordOf = (isSubmitted: boolean): string => {
    const { retryFlags } = options;
    const at: HubRecord = { database: hub.connection.database.name, repository, isSubmitted, retryFlags, plan };
    return mask(JSON.stringify({ ...(runRecord(options, runId, startedAt, null) as object), hub: at }, null, 2));
  };
  const write = (isSubmitted: boolean): Promise<void> =>
    writeFileAtomic(paths.run(runId).record, `${recordOf(isSubmitted)}\n`);
  await write(false);
  const { checkout } = hub.connection;
  const record = JSON.parse(recordOf(true)) as object;
  const run = { id: runId, repository, checkout, token, version: options.version, settings, record };
  const journals = items.map(({ key }) => {
    const item = itemOf(key);
    return { key, steps: inspectJournal(paths.checkpoint(item.workflow, item.id))?.all ?? [] };
  });
  await submit(
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
  await write(true);
  const followed = { ...options, runId, startedAt, repository, openPublisher, started };
  if (hub.detach) {
    await followHubRun({ ...followed, openPublisher: null }, hub.connection, 'look');
    return null;
  }
  return followHubRun(followed, hub.connection, 'follow');
}

/** With as many workers as machines have, and what keeps items waiting as far as it can be told now. */
async function planFor(
  plan: Plan,
  { connection, parallel }: HubRunOptions,
  items: readonly SubmittedItem[],
  wantsSandbox: boolean,
): Promise<Plan> {
  const { database } = connection;
  const { leaseMs } = await readHub(database);
  const machines = (await listMachines(database, leaseMs)).filter(({ state }) => state === 'working');
  const workers = machines.reduce((sum, machine) => sum + machine.parallel, 0);
  const lacking = items.filter(({ needs }) => !machines.some(({ tags }) => needs.every((tag) => tags.includes(tag))));
  const notes =
    machines.length === 0
      ? ['No machine has joined the hub yet: the items wait. See: agentos worker']
      : lacking.map(({ key, needs }) => `${itemOf(key).id} waits for a machine that has ${needs.join(' and ')}.`);
  const bare = wantsSandbox ? machines.filter(({ tags }) => !tags.includes(SANDBOX_TAG)).map(({ name }) => name) : [];
  if (bare.length > 0) notes.push(`No sandbox on ${listed(bare)}: programs of items can do there what its user can.`);
  return { ...plan, parallel: parallel ?? Math.max(1, workers), notes: [...plan.notes, ...notes] };
}

const NEEDS = /^needs:\s*([\w.-]{1,40})$/i;

/** What the hub and its machines have to know of the items, and of all their stages. */
async function submission(
  { project, pipeline, plan, haltAfter }: RunOptions,
  { parallel }: HubRunOptions,
  stages: StageOptions,
  started: ReadonlyMap<ItemId, Issue>,
  base: string,
): Promise<{ items: SubmittedItem[]; settings: RunSettings }> {
  const { config, paths, childEnv } = project;
  const open: PlannedItem[] = [];
  for (const item of plan.items.filter(isOpen)) if (!(await isOnlyUnposted(item, stages))) open.push(item);
  const { readPastCosts } = await import('./past-costs.ts');
  const past = open.some(({ state }) => state === 'resumed') ? await readPastCosts(paths, config.prices) : null;
  const items: SubmittedItem[] = [];
  const templates = new Map<string, Record<string, unknown>>();
  for (const planned of open) {
    const first = coordinatedItem(planned, planned, stages);
    const input: Record<string, object> = {};
    for (let at: typeof first | undefined = first; at !== undefined; ) {
      const { workflow } = itemOf(at.id);
      const whole = await carried(at.input);
      const template = templates.get(workflow) ?? whole;
      templates.set(workflow, template);
      input[workflow] = Object.fromEntries(
        Object.entries(whole).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(template[name])),
      );
      // As if it had ended well: what would follow.
      const end = {
        id: at.id,
        status: 'succeeded',
        attempts: 1,
        durationMs: 0,
        reason: null,
        error: null,
        outputs: [],
      } as const;
      [at] = nextStage({ ...end, outputs: [] }, stages);
    }
    const issue = started.get(planned.id) ?? (await project.source.read(planned.id).catch(() => null));
    items.push({
      key: keyOf(planned),
      hash: started.get(planned.id)?.hash ?? (await inputHash(project, planned.workflow, planned.id)),
      stage: pipeline.stages.findIndex(({ workflow }) => workflow === planned.workflow),
      needs: (issue?.labels ?? []).flatMap((label) => NEEDS.exec(label)?.[1]?.toLowerCase() ?? []),
      after: first.after ?? [],
      exclusive: first.exclusive ?? [],
      input,
      paidUsd: past?.paidUsd(planned.id) ?? 0,
    });
  }
  const specs = pipeline.stages.map(({ roles }) => roles.map((role) => config.models[role]));
  const agents = specs.map((all) =>
    all.map(parseModelSpec).flatMap((spec) => (isAgent(spec) && spec.command === null ? [spec.provider] : [])),
  );
  const git = createGit(paths.repository, childEnv);
  const settings: RunSettings = {
    pipeline: pipeline.name,
    stages: pipeline.stages.map(({ workflow }, index) => ({
      workflow,
      models: specs[index] ?? [],
      needs: [...new Set([...(agents[index] ?? []), ...(config.sandbox.mode === 'on' ? [SANDBOX_TAG] : [])])],
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
    items: items.map((item) => ({
      ...item,
      needs: [...new Set([...item.needs, ...(settings.stages[item.stage]?.needs ?? [])])],
    })),
    settings,
  };
}

/** It is done here, and only its pull request is missing. */
async function isOnlyUnposted(item: PlannedItem, stages: StageOptions): Promise<boolean> {
  const mayBe = stages.project.config.remote.pr.open && item.state === 'resumed' && item.reusedSteps === 0;
  return mayBe && (await doneElsewhere(item, stages)) !== null;
}

/** Without what belongs to this machine. */
async function carried(input: unknown): Promise<Record<string, unknown>> {
  const {
    id: _,
    runId: __,
    repository: ___,
    base: ____,
    token: _____,
    endpoints: ______,
    fingerprints: _______,
    sandbox: ________,
    ...rest
  } = await (input as () => Promise<Record<string, unknown>>)();
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
