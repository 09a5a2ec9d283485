import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import { transcriptFiles } from '../../agent/transcript.ts';
import { type ItemId, isItemId } from '../../core/ids.ts';
import { WORKFLOWS, type WorkflowName } from '../../core/paths.ts';
import type { Standing } from '../../core/summary.ts';
import { wordingOf } from '../../core/wording.ts';
import type { Project } from '../../run/project.ts';
import { openedFor } from '../../run/services/posts.ts';
import type { Chapter, InboxItem, ItemStory } from '../api.ts';
import { auditedEvents, type ItemAgentosEvent, points } from './chapter.ts';
import { codeChapters } from './code-chapters.ts';
import { designChapters } from './design-chapters.ts';
import { codeReviews, readBelow, versionsIn } from './item-versions.ts';
import type { RunOfItem, Runs } from './runs.ts';
import { documentBlocks } from './tree.ts';

export interface StoryOptions {
  project: Project;
  runs: Runs;
  inbox: () => Promise<InboxItem[]>;
  standingOf: (id: ItemId) => Promise<Standing | null>;
}

/** Everything known about an item, in chronological order; null: there is no such item. */
export async function storyOf(
  { project, runs, inbox, standingOf }: StoryOptions,
  id: string,
): Promise<ItemStory | null> {
  if (!isItemId(id)) return null;
  const [detail, own] = await Promise.all([standingOf(id), runs.withItem(id)]);
  if (detail === null && own.length === 0) return null;
  const { events, reactions, ...heard } = await gathered(project, runs, own.toReversed(), id);
  const mayWait = detail === null || detail.waitsFor === 'person' || detail.waitsFor === 'run';
  const chapters = [
    ...(await beginnings(project, id)),
    ...(await designs(project, id, events, heard.calls)),
    ...(await code(project, id, { key: 'implement', events: ofWorkflow(events, 'implement'), calls: heard.calls })),
    ...(await reacted(project, id, reactions, heard.calls)),
  ];
  return {
    id,
    title: detail?.title ?? own[0]?.title ?? id,
    state: detail?.state ?? null,
    waitsFor: detail?.waitsFor ?? null,
    reason: detail?.reason ?? null,
    branch: detail?.branch ?? null,
    pullRequest: webAddress(openedFor(project, id)?.url),
    costUsd: detail?.costUsd ?? heard.calls.reduce((sum, { costUsd }) => sum + (costUsd ?? 0), 0),
    question: (mayWait ? await inbox() : []).find((item) => item.id === id) ?? null,
    chapters: inTime(chapters, ends(events)),
    ...heard,
    runs: heard.runs.reverse(),
  };
}

interface Gathered extends Pick<ItemStory, 'runs' | 'calls' | 'logs' | 'transcripts'> {
  events: ItemAgentosEvent[];
  /** Runs that reacted to what happened to its pull request. */
  reactions: (RunOfItem & { events: ItemAgentosEvent[] })[];
}

function ofWorkflow<Part extends { workflow: WorkflowName }>(parts: readonly Part[], workflow: WorkflowName): Part[] {
  return parts.filter((part) => part.workflow === workflow);
}

/** The address comes from a service, so it is checked before it becomes a link. */
function webAddress(url: string | undefined): string | null {
  return url !== undefined && /^https?:\/\//.test(url) ? url : null;
}

/** Collects what the runs recorded about an item, the oldest first. */
async function gathered({ paths }: Project, runs: Runs, own: readonly RunOfItem[], id: ItemId): Promise<Gathered> {
  const all: Gathered = { runs: [], calls: [], logs: [], transcripts: [], events: [], reactions: [] };
  for (const ofItem of own) {
    const { runId, workflow, startedAt } = ofItem;
    const [brief, folded] = [await runs.brief(runId), await runs.folded(runId)];
    const item = folded?.state.items.get(id);
    const isLive = brief?.state === 'running' && item?.status === null;
    const unfinished = isLive ? (item.startedAtMs === null ? 'waiting' : 'running') : 'interrupted';
    all.runs.push({ runId, workflow, startedAt, status: item?.status ?? unfinished });
    const calls = folded?.state.timeline?.items.get(id)?.calls ?? [];
    all.calls.push(...calls.map((call) => ({ ...call, runId })));
    const run = paths.run(runId);
    for (const stage of WORKFLOWS) {
      const events = await auditedEvents(run, stage, id);
      all.events.push(...events);
      if (stage === 'react' && events.length > 0) all.reactions.push({ ...ofItem, events });
      if (existsSync(run.log(stage, id))) all.logs.push({ runId, workflow: stage, isLive });
      for (const [index, file] of transcriptFiles(run.transcripts(stage, id)).entries()) {
        const step = basename(file).replace(/^\d+-|\.jsonl\.gz$/g, '');
        all.transcripts.push({ path: `transcript/${runId}/${stage}/${id}/${index}`, step, runId });
      }
    }
  }
  return all;
}

/** The issue or brief, and what the models were shown with it. */
async function beginnings({ paths, source }: Project, id: ItemId): Promise<Chapter[]> {
  const plain = { tone: 'plain', at: null, facts: [], gist: '', isOpen: false } as const;
  const brief = await readBelow(paths.briefs, join(paths.briefs, `${id}.md`));
  const issue = await source.read(id).catch(() => null);
  const chapters: Chapter[] = [];
  for (const [title, text] of [
    ['Brief', brief?.text],
    ['Issue', issue?.raw],
  ] as const) {
    if (text === undefined) continue;
    chapters.push({ ...plain, key: title.toLowerCase(), title, blocks: documentBlocks(text), isOpen: true });
  }
  if (chapters.length === 0) return [];
  const gist = 'of the repository, with the reason for each file';
  return [
    ...chapters,
    {
      ...plain,
      key: 'context',
      title: 'What the models were shown',
      gist,
      blocks: [{ type: 'context', path: `context/${id}` }],
    },
  ];
}

async function designs(
  { paths }: Project,
  id: ItemId,
  events: readonly ItemAgentosEvent[],
  calls: ItemStory['calls'],
): Promise<Chapter[]> {
  const chapters: Chapter[] = [];
  const hasBriefFolder = existsSync(paths.briefLineage(id));
  for (const workflow of ['issue', 'lld'] as const) {
    const own = ofWorkflow(events, workflow);
    // If a brief and an issue have the same name, each has its own folder; otherwise there is one folder.
    const isOfBrief = workflow === 'issue';
    if (isOfBrief ? own.length === 0 && !hasBriefFolder : own.length === 0 && chapters.length > 0) continue;
    const folder = isOfBrief && hasBriefFolder ? paths.briefLineage(id) : paths.lineage(id);
    const versions = await versionsIn(paths, folder);
    const made = designChapters({ versions, events: own, calls: ofWorkflow(calls, workflow) });
    chapters.push(...made.map((chapter) => ({ ...chapter, key: `${workflow}-${chapter.key}` })));
  }
  return chapters;
}

interface Written {
  /** The prefix of the keys of its chapters. */
  key: string;
  events: readonly ItemAgentosEvent[];
  calls: ItemStory['calls'];
}

async function code({ paths, git }: Project, id: ItemId, { key, events, calls }: Written): Promise<Chapter[]> {
  const workflow = events[0]?.workflow;
  if (workflow !== 'implement' && workflow !== 'react') return [];
  const made = await codeChapters({
    events,
    calls: ofWorkflow(calls, workflow),
    reviews: await codeReviews(paths, workflow, id),
    git,
    report: paths.report(id),
  });
  return made.map((chapter) => ({ ...chapter, key: `${key}-${chapter.key}` }));
}

/** Each reaction to its pull request: what happened, then the changes as for an implementation. */
async function reacted(
  project: Project,
  id: ItemId,
  reactions: Gathered['reactions'],
  calls: ItemStory['calls'],
): Promise<Chapter[]> {
  const chapters: Chapter[] = [];
  for (const { runId, title, events } of reactions) {
    const key = `react-${runId}`;
    const at = events[0]?.at ?? null;
    chapters.push({ key, title: 'Reaction', tone: 'plain', at, facts: [], gist: title, blocks: [], isOpen: false });
    const own = calls.filter((call) => call.runId === runId);
    chapters.push(...(await code(project, id, { key, events, calls: own })));
  }
  return chapters;
}

/** Failed attempts, and ends other than success. */
function ends(events: readonly ItemAgentosEvent[]): Chapter[] {
  return events.flatMap((event, index): Chapter[] => {
    const plain = { key: `end-${index}`, at: event.at, facts: [], blocks: [], isOpen: false };
    if (event.type === 'item-retrying') {
      const gist = wordingOf(event.error.problem).message;
      return [{ ...plain, title: `Attempt ${event.attempt - 1} failed`, tone: 'bad', gist }];
    }
    if (event.type !== 'item-finished' || event.status === 'succeeded') return [];
    const { status, reason, error } = event;
    const words = error && wordingOf(error.problem);
    const gist = words?.message ?? reason ?? '';
    const tone = status === 'discuss' || status === 'paused' ? 'wait' : status === 'skipped' ? 'plain' : 'bad';
    const title = status === 'discuss' ? 'Waits for a person' : `Ended: ${status}`;
    return [{ ...plain, title, tone, gist, blocks: points('What to do', words?.hint ? [words.hint] : []) }];
  });
}

/** Inserts each of `more` before the first later chapter. */
function inTime(chapters: readonly Chapter[], more: readonly Chapter[]): Chapter[] {
  const all = [...chapters];
  for (const chapter of more) {
    const next = all.findIndex(({ at }) => at !== null && chapter.at !== null && at > chapter.at);
    all.splice(next === -1 ? all.length : next, 0, chapter);
  }
  return all;
}
