import type { LedgerEntry } from '../core/events.ts';
import type { GateEvidence } from '../core/gate.ts';
import type { PipelineName, StageName, WorkflowName } from '../core/paths.ts';
import type { Outlook } from '../core/progress.ts';
import type { RunSnapshot } from '../core/run-snapshot.ts';
import type { Stage, Standing } from '../core/summary.ts';
import type { Call, Spending } from '../core/timeline.ts';
import type { RunStanding } from '../run/history/run-history.ts';
import type { KnownKey } from '../run/keys-file.ts';

/*
 * The JSON that the server sends and the pages show. Types only, shared by both sides. `Answers` has the type of each response to
 * `GET /api/<path>`; a report contains the same responses.
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
  repository: string;
  version: string;
  /** The pages show everything and allow no actions. */
  readOnly: boolean;
  /** The name under which decisions are recorded. */
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
  /** By status; items without a status are not counted. */
  counts: Record<string, number>;
  costUsd: number | null;
  /** The command to copy; null: nothing failed. */
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
  /** A decision that no run has used yet, so it can be replaced. */
  decided: string | null;
}

/** What to read before a decision. */
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
  /** How many bytes of the run's events the snapshot covers. The live page asks for the rest. */
  offset: number;
  keys: KnownKey[];
  models: Record<string, string>;
  /** Files of the run were changed after it wrote them. */
  isTampered: boolean;
}

export type Tone = 'plain' | 'good' | 'bad' | 'wait' | 'active';

/** Everything that happened to an item, over all runs. */
export interface ItemStory {
  id: string;
  title: string;
  state: Stage | null;
  waitsFor: Standing['waitsFor'];
  reason: string | null;
  branch: string | null;
  /** The URL of its pull request; null: none is known. */
  pullRequest: string | null;
  costUsd: number;
  /** The newest first. */
  runs: { runId: string; workflow: PipelineName; status: string; startedAt: string }[];
  /** Its open question; null: it waits for nobody. */
  question: InboxItem | null;
  chapters: Chapter[];
  calls: (Call & { runId: string })[];
  logs: { runId: string; workflow: WorkflowName; isLive: boolean }[];
  transcripts: { path: string; step: string; runId: string }[];
}

/** One event of the story. */
export interface Chapter {
  /** The anchor for links. */
  key: string;
  title: string;
  tone: Tone;
  at: string | null;
  /** Short: who, how long, how much. */
  facts: readonly string[];
  /** The result in one line. */
  gist: string;
  blocks: readonly Block[];
  /** Expanded at first. */
  isOpen: boolean;
}

export type Block =
  | { type: 'markdown'; tree: MarkdownNode[] }
  | { type: 'diff'; title: string; files: DiffFile[] }
  | { type: 'ledger'; findings: readonly LedgerEntry[] }
  | { type: 'gate'; gate: GateEvidence }
  /** What the models were shown; loaded when it is expanded. */
  | { type: 'context'; path: string }
  | { type: 'points'; title: string; points: readonly string[] };

export interface ShownContext {
  base: string;
  tokens: number;
  budgetTokens: number;
  files: { path: string; part: string; lines: string; tokens: number; why: string }[];
  leftOut: number;
}

/** A part of a document: text, or a node with its attributes and children. The page renders no other nodes. */
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
  /** Some lines are not included. */
  isCut: boolean;
}

export interface DiffHunk {
  oldStart: number;
  newStart: number;
  rows: DiffRow[];
}

/** Before and after, side by side. If both are plain strings, the line is unchanged. */
export type DiffRow = [oldLine: number | null, before: DiffText | null, newLine: number | null, after: DiffText | null];

/** A line; or its unchanged and changed pieces in turn, starting with an unchanged one. */
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
  /** Short: what it waits for, what went wrong, or where its result is. */
  note: string;
  costUsd: number;
  runId: string | null;
}

export interface Money {
  spending: Spending[];
  /** The most expensive first. */
  items: { id: string; title: string; costUsd: number }[];
  runs: { runId: string; workflow: PipelineName; startedAt: string; costUsd: number | null }[];
  /** For running runs. */
  outlooks: (Outlook & { runId: string })[];
  keys: KnownKey[];
  /** How many older runs were not read, to save time. */
  unreadRuns: number;
}

/* The actions: bodies of `POST /api/<name>`, which `server/actions.ts` parses. */

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

/** A decision that is recorded at `dueAtMs` unless it is undone before. */
export interface Held extends DecideRequest {
  key: string;
  dueAtMs: number;
  by: string;
}

/** The result of a held decision. */
export interface Settled {
  key: string;
  id: string;
  /** The file with the decision; null: it was not recorded, and `problem` says why. */
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
  /** The same on a command line. */
  command: string;
}

/** The events of `GET /api/live`. */
export interface LiveMessages {
  /** Lines of a run's events, as they are stored. */
  events: string[];
  /** Lines of an item's log. */
  log: string[];
  /** Something other than the displayed run has changed, so the other pages should reload. */
  overview: Overview;
  held: Held[];
  settled: Settled;
}
