import type { LedgerEntry } from '../core/events.ts';
import type { GateEvidence } from '../core/gate.ts';
import type { Outlook } from '../core/outlook.ts';
import type { PipelineName, StageName, WorkflowName } from '../core/paths.ts';
import type { RunSnapshot } from '../core/run-snapshot.ts';
import type { Stage, Standing } from '../core/summary.ts';
import type { Call, Spending } from '../core/timeline.ts';
import type { RunStanding } from '../run/history/run-history.ts';
import type { KnownKey } from '../run/keys-file.ts';

/*
 * What the server says and the pages show, as JSON. Types only: both sides are built from them. Every answer of `GET
 * /api/<path>` has its type in `Answers`; a report holds the same answers in a file.
 */

export interface Answers {
  overview: Overview;
  inbox: InboxItem[];
  /** `question/<workflow>/<id>` */
  question: QuestionDetail;
  /** `run/<runId>` */
  run: RunDetail;
  /** `item/<id>` */
  item: ItemStory;
  /** `context/<id>` */
  context: ShownContext;
  /** `transcript/<runId>/<workflow>/<id>/<number>` */
  transcript: string[];
  board: BoardItem[];
  money: Money;
}

export interface Overview {
  /** Its name. */
  repository: string;
  version: string;
  /** Nothing can be done from here, only looked at. */
  readOnly: boolean;
  /** Whose name decisions are recorded in. */
  person: string;
  /** When a report was written; null: this is the live page. */
  writtenAt: string | null;
  /** The newest first. */
  runs: RunBrief[];
  /** How many items wait for a person. */
  waiting: number;
}

export interface RunBrief {
  runId: string;
  workflow: PipelineName;
  state: RunStanding;
  startedAt: string;
  finishedAt: string | null;
  items: number;
  /** By status; those without one are not in it. */
  counts: Record<string, number>;
  costUsd: number | null;
  /** The line to copy, where something failed. */
  retryCommand: string | null;
  /** What a person has to do before a retry. */
  changeFirst: string | null;
}

export interface InboxItem {
  id: string;
  workflow: WorkflowName;
  /** `LLD-42` */
  label: string;
  title: string;
  /** What is asked, and why. */
  asked: string;
  /** An approval has to answer these. */
  questions: string[];
  /** Why it can't be approved as it stands; null: it can. */
  obstacle: string | null;
  canRevise: boolean;
  sinceMs: number;
  costUsd: number;
  runs: number;
  /** A decision that no run has used yet; it can be replaced. */
  decided: string | null;
}

/** What a person reads before they decide. */
export interface QuestionDetail {
  /** The draft, or the change. */
  draft: Block[];
  draftName: string;
  review: Block[];
  reviewName: string;
}

export interface RunDetail {
  brief: RunBrief;
  snapshot: RunSnapshot;
  /** Bytes of the run's events that are in the snapshot: the live page asks for what comes after. */
  offset: number;
  keys: KnownKey[];
  models: Record<string, string>;
  /** Its files are not as it wrote them. */
  isTampered: boolean;
}

export type Tone = 'plain' | 'good' | 'bad' | 'wait' | 'active';

/** All that happened to an item, over all its runs. */
export interface ItemStory {
  id: string;
  title: string;
  state: Stage | null;
  waitsFor: Standing['waitsFor'];
  reason: string | null;
  branch: string | null;
  /** Where its branch is reviewed; null: nowhere that is known. */
  pullRequest: string | null;
  costUsd: number;
  /** The newest first. */
  runs: { runId: string; workflow: PipelineName; status: string; startedAt: string }[];
  /** Where it waits for a person. */
  question: InboxItem | null;
  chapters: Chapter[];
  calls: (Call & { runId: string })[];
  logs: { runId: string; workflow: WorkflowName; isLive: boolean }[];
  transcripts: { path: string; step: string; runId: string }[];
}

/** One thing that happened, in its place in the story. */
export interface Chapter {
  /** For links to it. */
  key: string;
  title: string;
  tone: Tone;
  at: string | null;
  /** Who, how long, how much; short. */
  facts: readonly string[];
  /** What came of it, in a line. */
  gist: string;
  blocks: readonly Block[];
  /** Shown unfolded at first. */
  isOpen: boolean;
}

export type Block =
  | { type: 'markdown'; tree: MarkdownNode[] }
  | { type: 'diff'; title: string; files: DiffFile[] }
  | { type: 'ledger'; findings: readonly LedgerEntry[] }
  | { type: 'gate'; gate: GateEvidence }
  /** What the models were shown; asked for when it is looked at. */
  | { type: 'context'; path: string }
  | { type: 'points'; title: string; points: readonly string[] };

export interface ShownContext {
  base: string;
  tokens: number;
  budgetTokens: number;
  files: { path: string; part: string; lines: string; tokens: number; why: string }[];
  leftOut: number;
}

/** A document: text, or a node with what it needs and what is inside. The page draws these and no others. */
export type MarkdownNode =
  | string
  | ['p' | 'em' | 'strong' | 'del' | 'quote' | 'ul' | 'ol' | 'li' | 'table' | 'row' | 'cell', ...MarkdownNode[]]
  | ['h', number, ...MarkdownNode[]]
  | ['task', boolean, ...MarkdownNode[]]
  | ['a', string, ...MarkdownNode[]]
  | ['code', string]
  | ['pre', language: string, text: string]
  | ['br' | 'hr'];

export interface DiffFile {
  path: string;
  change: 'added' | 'deleted' | 'renamed' | 'changed';
  added: number;
  removed: number;
  hunks: DiffHunk[];
  /** There is more than is shown. */
  isCut: boolean;
}

export interface DiffHunk {
  oldStart: number;
  newStart: number;
  rows: DiffRow[];
}

/** Before and after, beside each other. Plain text on both sides: the line is the same. */
export type DiffRow = [oldLine: number | null, before: DiffText | null, newLine: number | null, after: DiffText | null];

/** A line; or what is the same and what is not in turn, beginning with the same. */
export type DiffText = string | string[];

export const COLUMNS = [
  'to-design',
  'designing',
  'needs-you',
  'to-implement',
  'implementing',
  'in-review',
  'done',
  'failed',
] as const;

export interface BoardItem {
  id: string;
  title: string;
  labels: readonly string[];
  column: (typeof COLUMNS)[number];
  /** What it waits for, what went wrong, or where its result is; in a few words. */
  note: string;
  costUsd: number;
  runId: string | null;
}

export interface Money {
  spending: Spending[];
  /** The dearest first. */
  items: { id: string; title: string; costUsd: number }[];
  runs: { runId: string; workflow: PipelineName; startedAt: string; costUsd: number | null }[];
  /** Of runs that are under way. */
  outlooks: (Outlook & { runId: string })[];
  keys: KnownKey[];
  /** Older runs that were not read, to answer in time. */
  unreadRuns: number;
}

/* What a person does: the bodies of `POST /api/<name>`. Each is parsed by `server/actions.ts`. */

export interface Actions {
  decide: { body: DecideRequest; answer: Held };
  undo: { body: { key: string }; answer: { undone: boolean } };
  stop: { body: { runId: string }; answer: Record<string, never> };
  cancel: { body: { runId: string; id: string }; answer: Record<string, never> };
  retry: { body: { runId: string }; answer: Begun };
  plan: { body: BatchWish; answer: PlanShown };
  start: { body: BatchWish; answer: Begun };
}

export interface DecideRequest {
  id: string;
  workflow: WorkflowName;
  kind: 'approve' | 'revise' | 'drop';
  reason: string;
  change: string;
}

/** A decision that is recorded when its time is up, unless it is undone before. */
export interface Held extends DecideRequest {
  key: string;
  dueAtMs: number;
  by: string;
}

/** What became of a decision that was held. */
export interface Settled {
  key: string;
  id: string;
  /** Where it is recorded; null: it could not be, and `problem` says why. */
  recorded: string | null;
  problem: string | null;
}

export interface Begun {
  runId: string;
}

export interface BatchWish {
  workflow: StageName | 'run';
  /** Empty: every pending item. */
  ids: string[];
  parallel: number;
  maxCostUsd: number | null;
  offline: boolean;
}

export interface PlanShown {
  items: { id: string; title: string; state: string; fromStep: string | null; workflow: string }[];
  estimateUsd: number | null;
  costCeilingUsd: number | null;
  notes: string[];
  models: Record<string, string>;
  /** As it would be typed. */
  command: string;
}

/** What the live page is told without asking: the events of `GET /api/live`. */
export interface LiveMessages {
  /** Lines of a run's events, as they are stored. */
  events: string[];
  /** Lines of an item's log. */
  log: string[];
  /** Something else than the run that is shown has changed: ask again. */
  overview: Overview;
  held: Held[];
  settled: Settled;
}
