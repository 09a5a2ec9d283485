import { relative } from 'node:path';
import type { Clock } from '../core/clock.ts';
import type { ItemEvent } from '../core/events.ts';
import type { Paths, WorkflowName } from '../core/paths.ts';
import { decisionRows } from '../documents/decision.ts';
import { formatReviewLog } from '../documents/ledger.ts';
import type { BaseTree } from '../documents/lld/checks.ts';
import type { Journal } from '../journal/port.ts';
import type { Provider } from '../models/port.ts';
import { removeUnfinishedFiles } from '../process/unfinished-files.ts';
import type { Prompts } from '../prompts/prompts.ts';
import type { Issue } from '../source/port.ts';
import type { ApprovedBy } from './approved-lld.ts';
import { createDecider } from './deciding.ts';
import { createDocumentQuestions, type DocumentSubject } from './document-questions.ts';
import { createLineage, type Lineage, nextVersionNumber } from './lineage.ts';
import { type Budget, createModelCaller } from './model-caller.ts';
import { type CheckResult, reviewLoop } from './review-loop.ts';

/** The repository as the workflow needs it: opened once, at the commit that the item began with. */
export interface DesignBase extends BaseTree {
  commit: string;
  paths: readonly string[];
}

/** What every workflow that ends in a reviewed document needs. */
export interface DocumentDependencies {
  paths: Paths;
  journal: Journal;
  providers: { drafter: Provider; reviewer: Provider };
  prompts: Prompts;
  budget: Budget;
  maxRounds: number;
  clock: Clock;
  signal: AbortSignal;
  emit: (event: ItemEvent) => void;
  onProgress: () => void;
  headCommit: () => Promise<string>;
  openBase: (commit: string) => Promise<DesignBase>;
  /** What a drafter is shown of the repository, for a text that may name parts of it. */
  contextFor: (base: DesignBase, text: string) => Promise<string>;
  /** Takes known secrets out of what is written to files. */
  mask: (text: string) => string;
}

export interface DocumentResult {
  /** skipped: a person dropped it. */
  status: 'succeeded' | 'discuss' | 'skipped';
  /** Why a person has to decide, or what a person said. */
  reason: string | null;
  outputs: string[];
}

/** What is found out at the start and stays so, however often the item is resumed. */
export type Beginning<More> = More & {
  commit: string;
  context: string;
  firstNumber: number;
  /** A document that a person wrote or edited is reviewed as it is, instead of being drafted anew. */
  givenDraft: string | null;
  /**
   * What the document is made from, as it was then: white space that changed since must not change a prompt, or its
   * stored answer would be paid for again. Absent in a checkpoint of an older version.
   */
  input?: Pick<Issue, 'title' | 'body' | 'raw'>;
};

export interface DocumentWork<More> {
  workflow: WorkflowName;
  /** What the document is made from. */
  input: Issue;
  /** What the beginning depends on: when it changes, the item begins anew. */
  inputs: unknown;
  givenDraft: string | null;
  /** What else stands in the document's place: it is kept before it is replaced. */
  replaced: string | null;
  /** What else is found out at the start. */
  begin: () => Promise<More>;
  /** The folder that its versions go to. */
  lineage: (begun: More) => string;
  onBegun?: (beginning: Beginning<More>) => void;
  subject: (beginning: Beginning<More>, input: Issue) => DocumentSubject;
  check: (draft: string, base: DesignBase) => CheckResult;
}

export interface ApprovedDocument<More> {
  text: string;
  reviewLog: string;
  beginning: Beginning<More>;
  lineage: Lineage;
  by: ApprovedBy;
}

/**
 * From the text that is given to an approved document, or to another end. Everything it decides on is a durable step or
 * follows from one.
 */
export async function approvedDocument<More>(
  deps: DocumentDependencies,
  work: DocumentWork<More>,
): Promise<ApprovedDocument<More> | { ended: DocumentResult }> {
  const { paths, journal, providers, prompts, maxRounds, emit, mask } = deps;
  const { input, inputs, givenDraft, replaced } = work;
  const { value: beginning } = await journal.step<Beginning<More>>({ name: 'begin', inputs }, async () => {
    const commit = await deps.headCommit();
    const context = await deps.contextFor(await deps.openBase(commit), input.raw);
    const more = await work.begin();
    const firstNumber = await nextVersionNumber(work.lineage(more));
    const { title, body, raw } = input;
    const asRead = { title: mask(title), body: mask(body), raw: mask(raw) };
    return { ...more, commit, context, firstNumber, givenDraft, input: asRead };
  });
  work.onBegun?.(beginning);
  const base = await deps.openBase(beginning.commit);
  await removeUnfinishedFiles(work.lineage(beginning));
  const folder = work.lineage(beginning);
  const lineage = createLineage(folder, beginning.firstNumber, (path) =>
    emit({ type: 'file-written', path: relative(paths.repository, path), what: 'lineage' }),
  );
  const begunWith: Issue = { ...input, ...beginning.input };
  const subject = work.subject(beginning, begunWith);
  const ask = createDocumentQuestions(subject, { prompts, call: createModelCaller(deps) });

  await lineage.add('issue', mask(begunWith.raw));
  if (replaced !== null) await lineage.add('draft', mask(replaced));
  const decider = createDecider({
    workflow: work.workflow,
    item: input,
    journal,
    paths,
    folder,
    lineage,
    canRevise: providers.drafter.isModel,
    emit,
  });
  const outcome = await reviewLoop(beginning.givenDraft ?? (await ask.draft()), {
    form: subject.form,
    ask,
    check: (draft) => work.check(draft, base),
    lineage,
    emit,
    maxRounds,
    decide: decider.ask,
  });
  if (outcome.verdict === 'DROPPED') return { ended: await decider.drop(outcome.decision) };
  if (outcome.verdict === 'DISCUSS') return { ended: { status: 'discuss', reason: outcome.reason, outputs: [folder] } };
  const isDrafted = beginning.givenDraft === null;
  const by: ApprovedBy = {
    drafter: isDrafted ? providers.drafter.spec : 'a person',
    reviewer: [providers.reviewer.spec, ...outcome.decisions.map(({ by }) => by)].join(', '),
    recorded: !providers.reviewer.isModel,
    rounds: outcome.rounds,
    baseCommit: beginning.commit,
  };
  const reviewLog = formatReviewLog(outcome.ledger, decisionRows(outcome.decisions));
  return { text: outcome.text, reviewLog, beginning, lineage, by };
}
