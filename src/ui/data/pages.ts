import { basename } from 'node:path';
import { readTranscript, transcriptFiles, transcriptLines } from '../../agent/transcript.ts';
import { isFailure } from '../../core/exit-code.ts';
import { type ItemId, isItemId } from '../../core/ids.ts';
import { ITEM_STATUSES, type ItemStatus } from '../../core/item.ts';
import { secretsIn } from '../../core/keys.ts';
import { oneLine } from '../../core/lines.ts';
import { createMask } from '../../core/mask.ts';
import { WORKFLOWS } from '../../core/paths.ts';
import { snapshotOf } from '../../core/run-snapshot.ts';
import type { Standing } from '../../core/summary.ts';
import { readFrontMatter } from '../../documents/header.ts';
import { personOf } from '../../git/repository.ts';
import { isTampered } from '../../run/history/audit.ts';
import { knownKeys, readKeysFile } from '../../run/keys-file.ts';
import type { Project } from '../../run/project.ts';
import { openedFor } from '../../run/services/posts.ts';
import { contextOf, detailOf, standings } from '../../run/standing/item-standing.ts';
import type { Answers, BoardItem, Overview, RunDetail, ShownContext } from '../api.ts';
import { createInbox, questionDetail } from './inbox.ts';
import { readBelow } from './item-versions.ts';
import { createMoney } from './money.ts';
import { createRuns, type Runs } from './runs.ts';
import { storyOf } from './story.ts';

/** The responses to the pages' requests, by path. */
export interface Pages {
  /** Null: not found. */
  get(path: string): Promise<Answers[keyof Answers] | null>;
  overview(): Promise<Overview>;
  runs: Runs;
}

interface PagesOptions {
  project: Project;
  version: string;
  readOnly: boolean;
  writtenAt: string | null;
}

export function createPages({ project, version, readOnly, writtenAt }: PagesOptions): Pages {
  const { paths, git } = project;
  const runs = createRuns(project);
  const { items: waitingNow, count } = createInbox(project);
  // A report shows one moment, so what is collected from all runs is read once for all its items.
  const isReport = writtenAt !== null;
  const inbox = isReport ? once(waitingNow) : waitingNow;
  const standingsNow = (): Promise<Standing[]> => standings(project);
  const all = isReport ? once(standingsNow) : standingsNow;
  const standingOf = async (id: ItemId): Promise<Standing | null> =>
    isReport ? ((await all()).find((standing) => standing.id === id) ?? null) : detailOf(project, id);
  const money = createMoney(project, runs);
  let person: Promise<string> | null = null;

  const overview = async (): Promise<Overview> => {
    person ??= personOf(git);
    return {
      repository: basename(paths.repository),
      version,
      readOnly,
      person: await person,
      writtenAt,
      runs: await runs.briefs(),
      waiting: count(),
    };
  };

  return {
    runs,
    overview,
    async get(path) {
      const [name = '', ...words] = path.split('/');
      const [first = '', second = ''] = words;
      switch (name) {
        case 'overview':
          return overview();
        case 'inbox':
          return inbox();
        case 'question':
          return questionDetail(project, first, second);
        case 'run':
          return runDetail(project, runs, first);
        case 'item':
          return storyOf({ project, runs, inbox, standingOf }, first);
        case 'context':
          return shownContext(project, first);
        case 'transcript':
          return transcriptOf(project, words);
        case 'board':
          return boardItems(await all(), (id) => isItemId(id) && openedFor(project, id) !== null);
        case 'money':
          return money.read(Date.now());
        default:
          return null;
      }
    },
  };
}

function once<T>(read: () => Promise<T>): () => Promise<T> {
  let answer: Promise<T> | null = null;
  return () => {
    answer ??= read();
    return answer;
  };
}

/** As made by `runIdOf`. Folders with other names are ignored. */
const RUN_ID = /^\d{8}T\d{9}Z-[0-9a-f]{8}$/;

export function isRunId(text: string): boolean {
  return RUN_ID.test(text);
}

async function runDetail({ paths, config }: Project, runs: Runs, runId: string): Promise<RunDetail | null> {
  if (!isRunId(runId)) return null;
  const [brief, folded] = [await runs.brief(runId), await runs.folded(runId)];
  if (brief === null || folded === null) return null;
  const { state, offset, record } = folded;
  const keys = knownKeys(config.keys, await readKeysFile(paths.keys), Date.now());
  const isChanged = await isTampered(paths.run(runId).directory);
  return { brief, snapshot: snapshotOf(state), offset, keys, models: record.models, isTampered: isChanged };
}

async function shownContext(project: Project, id: string): Promise<ShownContext | null> {
  if (!isItemId(id)) return null;
  const designed = await designedAt(project, id);
  const { base, tokens, budgetTokens, files, leftOut } = await contextOf(project, id, designed).catch(() =>
    contextOf(project, id),
  );
  return {
    base,
    tokens,
    budgetTokens,
    files: files.map(({ lines, ...file }) => ({ ...file, lines: lines.map((range) => range.join('–')).join(', ') })),
    leftOut: leftOut.length,
  };
}

/** The commit that an approved LLD was made for; null: unknown. */
async function designedAt({ paths }: Project, id: ItemId): Promise<string | null> {
  const lld = await readBelow(paths.llds, paths.lld(id));
  const commit = lld === null ? null : readFrontMatter(lld.text).fields['baseCommit'];
  return typeof commit === 'string' && /^[0-9a-f]{40,64}$/.test(commit) ? commit : null;
}

const MOST_TRANSCRIPT_LINES = 20_000;

async function transcriptOf(
  { paths }: Project,
  [runId = '', stage, id = '', index]: readonly string[],
): Promise<string[] | null> {
  const workflow = WORKFLOWS.find((one) => one === stage);
  if (!isRunId(runId) || workflow === undefined || !isItemId(id)) return null;
  const file = transcriptFiles(paths.run(runId).transcripts(workflow, id))[Number(index)];
  if (file === undefined) return null;
  return (await transcriptLines(await readTranscript(file))).slice(0, MOST_TRANSCRIPT_LINES);
}

/** Masks keys, tokens, and every variable of our environment that is named like a secret. */
export function maskAll({ env, mask }: Project): (text: string) => string {
  const others = createMask(secretsIn(env));
  return (text) => others(mask(text));
}

/** Every issue with its column. */
function boardItems(standings: readonly Standing[], isOpened: (id: string) => boolean): BoardItem[] {
  return standings.map((standing) => {
    const { id, title, labels, costUsd, lastRun, state } = standing;
    const isReviewed = state === 'branch' && isOpened(id);
    return { id, title, labels, costUsd, runId: lastRun?.runId ?? null, ...placeOf(standing, isReviewed) };
  });
}

type Place = Pick<BoardItem, 'column' | 'note'>;

/** `isReviewed`: there is a pull request for its branch. */
export function placeOf(standing: Standing, isReviewed: boolean): Place {
  const { state, waitsFor, reason, branch, isUnderWay, lastRun } = standing;
  const why = reason === null ? '' : oneLine(reason);
  if (waitsFor === 'person') return { column: 'needs-you', note: why.replace(/^the reviewer asks: /, '') };
  switch (state) {
    case 'merged':
      return { column: 'done', note: 'merged' };
    case 'already-done':
      return { column: 'done', note: why || 'already done' };
    case 'dropped':
      return { column: 'done', note: why || 'dropped' };
    case 'branch':
      return { column: isReviewed ? 'in-review' : 'done', note: branch ?? '' };
    case 'unreadable':
      return { column: 'failed', note: why };
    case 'issue':
    case 'lld':
  }
  const isDesigned = state === 'lld';
  if (isUnderWay && lastRun?.status === 'running')
    return { column: isDesigned ? 'implementing' : 'designing', note: lastRun.step ?? '' };
  const column = isDesigned ? 'to-implement' : 'to-design';
  if (isUnderWay) return { column, note: waitsFor === 'quota' ? 'waits for quota' : 'waits for its turn' };
  if (isFailed(lastRun?.status)) return { column: 'failed', note: `${lastRun?.status}${why && `: ${why}`}` };
  if (waitsFor === 'run') return { column, note: 'decided, waits for the next run' };
  return { column, note: why };
}

function isFailed(status: string | undefined): boolean {
  return ITEM_STATUSES.some((known) => known === status) && isFailure(status as ItemStatus);
}
