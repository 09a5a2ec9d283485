import { AgentosError, type MissingKey } from '../../core/errors.ts';
import { type ItemId, runIdOf } from '../../core/ids.ts';
import { keyOf } from '../../core/item.ts';
import { missingAtHub } from '../../core/keys.ts';
import { listed } from '../../core/lines.ts';
import { isAgent, keyVendorOf, parseModelSpec } from '../../core/model-spec.ts';
import type { Plan, PlannedItem } from '../../core/plan.ts';
import type { Summary } from '../../core/summary.ts';
import { authorOf, headCommit } from '../../git/repository.ts';
import type { SubmittedItem } from '../../hub/backlog.ts';
import { readHub } from '../../hub/hub-link.ts';
import { listMachines, SANDBOX_TAG } from '../../hub/machines.ts';
import type { RunSettings } from '../../hub/run-settings.ts';
import { type HubConnection, repositoryName, submit } from '../../hub/submitter.ts';
import { inspectJournal } from '../../journal/inspect.ts';
import { writeFileAtomic } from '../../process/files.ts';
import { readPromptFiles } from '../../prompts/prompts.ts';
import type { Issue } from '../../source/port.ts';
import type { ItemInput } from '../../worker/adapters.ts';
import type { RunRecord } from '../history/run-files.ts';
import { isOpen, modelUses, stagesAhead, startsPrograms } from '../pipeline.ts';
import { prepareRunFolder, runRecord } from '../prepare-run.ts';
import type { RunOptions } from '../run.ts';
import { createRunItems, doneElsewhere, itemOf, type RunItems } from '../run-items.ts';
import { openPosting } from '../services/hosts.ts';
import { inputHash } from '../standing/decide.ts';
import { followHubRun } from './hub-follow.ts';

interface HubRunOptions {
  connection: HubConnection;
  /** Submit the items and don't wait for them. */
  detach: boolean;
  /** How many of the items run at once; null: as many as machines take. */
  parallel: number | null;
}

/** Submits the items and follows them. Null: the run continues at the hub. */
export async function runOnHub(given: RunOptions, hub: HubRunOptions): Promise<Summary | null> {
  const { project, pipeline, interrupt } = given;
  const { paths, mask, git, config } = project;
  const startedAt = new Date();
  // Fails before anything is paid for if services can't be written.
  const openPublisher = await openPosting(project);
  await prepareRunFolder(project);
  const runId = runIdOf(startedAt, paths.base, process.pid);
  const token = hub.connection.tokenOf(runId);
  const repository = await repositoryName(git);
  const started = new Map<ItemId, Issue>();
  const runItems = createRunItems({
    project,
    pipeline,
    runId,
    isSelected: given.request.all,
    prompts: readPromptFiles(paths.prompts),
    // Each machine has its own, or none.
    sandbox: null,
    onRead: (id, issue) => void started.set(id, issue),
    accessOf: () => null,
  });
  const { items, settings } = await submission(given, hub, runItems, started);
  requireKeys(given, hub.connection);
  const open = given.plan.items.filter(isOpen);
  const mayRunPrograms = startsPrograms(pipeline, open, modelUses(project, pipeline, open));
  const plan = await planFor(given.plan, hub, items, mayRunPrograms && config.sandbox.mode === 'auto');
  const options = { ...given, plan };
  const recordOf = (isSubmitted: boolean): string => {
    const { retryFlags } = options;
    const { name: database } = hub.connection.database;
    const at: RunRecord['hub'] = { database, repository, isSubmitted, retryFlags, plan };
    return mask(JSON.stringify({ ...runRecord(options, runId, startedAt, null), hub: at }, null, 2));
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
      copy: settings.stages.some(({ workflow }) => workflow === 'implement') ? config.implement.copy : [],
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

/** The plan with the machines' number of workers, and with notes on what items will wait for. */
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
  if (bare.length > 0) notes.push(`No sandbox on ${listed(bare)}: programs of items can do there what the user can.`);
  return { ...plan, parallel: parallel ?? Math.max(1, workers), notes: [...plan.notes, ...notes] };
}

const NEEDS = /^needs:\s*([\w.-]{1,40})$/i;

/** What the hub and its machines have to know about the items and their stages. */
async function submission(
  options: RunOptions,
  { parallel }: HubRunOptions,
  runItems: RunItems,
  started: ReadonlyMap<ItemId, Issue>,
): Promise<{ items: SubmittedItem[]; settings: RunSettings }> {
  const { project, pipeline, plan, request } = options;
  const { config, paths, git } = project;
  const open: PlannedItem[] = [];
  for (const item of plan.items.filter(isOpen)) if (!(await isOnlyUnposted(item, options))) open.push(item);
  const { readPastCosts } = await import('../history/past-costs.ts');
  const past = open.some(({ state }) => state === 'resumed') ? await readPastCosts(paths, config.prices) : null;
  const items: SubmittedItem[] = [];
  /** The input of the first item in each stage. Of the other items only the differences are submitted. */
  const templates = new Map<string, Record<string, unknown>>();
  for (const planned of open) {
    const { exclusive = [], after = [] } = runItems.stage(planned, planned);
    const input: Record<string, object> = {};
    for (const { workflow } of stagesAhead(pipeline, [planned])) {
      const whole: Record<string, unknown> = portable(await runItems.input({ workflow, id: planned.id }));
      const template = templates.get(workflow) ?? whole;
      templates.set(workflow, template);
      input[workflow] = Object.fromEntries(
        Object.entries(whole).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(template[name])),
      );
    }
    const issue = started.get(planned.id) ?? (await project.source.read(planned.id).catch(() => null));
    items.push({
      key: keyOf(planned),
      hash: started.get(planned.id)?.hash ?? (await inputHash(project, planned.workflow, planned.id)),
      stage: pipeline.stages.findIndex(({ workflow }) => workflow === planned.workflow),
      needs: (issue?.labels ?? []).flatMap((label) => NEEDS.exec(label)?.[1]?.toLowerCase() ?? []),
      after,
      exclusive,
      input,
      paidUsd: past?.paidUsd(planned.id) ?? 0,
    });
  }
  const specs = pipeline.stages.map(({ roles }) => roles.map((role) => config.models[role]));
  const agents = specs.map((all) =>
    all.map(parseModelSpec).flatMap((spec) => (isAgent(spec) && spec.command === null ? [spec.provider] : [])),
  );
  const settings: RunSettings = {
    pipeline: pipeline.name,
    stages: pipeline.stages.map(({ workflow }, index) => ({
      workflow,
      models: specs[index] ?? [],
      needs: [...new Set([...(agents[index] ?? []), ...(config.sandbox.mode === 'on' ? [SANDBOX_TAG] : [])])],
      input: templates.get(workflow) ?? {},
    })),
    parallel,
    haltAfter: request.haltAfter,
    bounds: config.bounds,
    prices: config.prices,
    base: await headCommit(git),
    identity: await authorOf(git),
  };
  return {
    items: items.map((item) => ({
      ...item,
      needs: [...new Set([...item.needs, ...(settings.stages[item.stage]?.needs ?? [])])],
    })),
    settings,
  };
}

/** The item is done, and only its pull request is missing. */
async function isOnlyUnposted(item: PlannedItem, { project, pipeline, request }: RunOptions): Promise<boolean> {
  const mayBe = project.config.remote.pr.open && item.state === 'resumed' && item.reusedSteps === 0;
  if (!mayBe) return false;
  return (await doneElsewhere(item, { project, pipeline, isSelected: request.all })).result !== null;
}

/** The part of the input that does not depend on the machine. */
function portable({ config, prompts, issue, existing }: ItemInput): Partial<ItemInput> {
  return { config, prompts, ...(issue && { issue }), ...(existing && { existing }) };
}

/** The hub needs the keys, not this machine. */
function requireKeys({ project, pipeline, plan }: RunOptions, { facts }: HubConnection): void {
  const { config } = project;
  const missing = new Map<string, MissingKey>();
  const roles = stagesAhead(pipeline, plan.items.filter(isOpen)).flatMap((stage) => stage.roles);
  for (const role of new Set(roles)) {
    const vendor = keyVendorOf(parseModelSpec(config.models[role]), config.ownLogins);
    if (vendor === null || facts.vendors.includes(vendor)) continue;
    const known = missing.get(vendor);
    missing.set(vendor, missingAtHub(vendor, [...(known?.roles ?? []), role]));
  }
  if (missing.size > 0) throw new AgentosError({ code: 'key-missing', missing: [...missing.values()] });
}
