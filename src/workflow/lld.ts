import { relative } from 'node:path';
import type { Clock } from '../core/clock.ts';
import type { ItemEvent } from '../core/events.ts';
import type { Paths } from '../core/paths.ts';
import { formatCoverage } from '../governance/coverage.ts';
import { formatReviewLog } from '../governance/ledger.ts';
import { type BaseTree, checkLld } from '../governance/lld/checks.ts';
import { documentFromReply } from '../governance/lld/reply.ts';
import { withReviewLog } from '../governance/lld/review-log.ts';
import { withStatus } from '../governance/lld/status.ts';
import type { Prompts } from '../governance/prompts.ts';
import type { Journal } from '../journal/port.ts';
import type { Provider } from '../provider/port.ts';
import type { Issue } from '../source/port.ts';
import { writeFileAtomic } from '../workspace/atomic-file.ts';
import { type ApprovedBy, approvedLld, editedLld, readLldFile } from './approved-lld.ts';
import { createLineage, nextVersionNumber } from './lineage.ts';
import { createLldQuestions } from './lld-questions.ts';
import { type Budget, createModelCaller } from './model-caller.ts';
import { reviewLoop } from './review-loop.ts';

/** The repository as the workflow needs it: opened once, at the commit that the item began with. */
export interface DesignBase extends BaseTree {
  commit: string;
  paths: readonly string[];
}

export interface LldDependencies {
  issue: Issue;
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
  contextFor: (base: DesignBase, issue: Issue) => Promise<string>;
  /** Takes known secrets out of what is written to files. */
  mask: (text: string) => string;
}

export interface LldResult {
  status: 'succeeded' | 'discuss';
  /** Why a person has to decide. */
  reason: string | null;
  outputs: string[];
}

interface Beginning {
  commit: string;
  context: string;
  firstNumber: number;
  /** An LLD that a person wrote or edited is reviewed as it is, instead of being drafted anew. */
  givenDraft: string | null;
}

/** One issue becomes a reviewed LLD. Everything it decides on is a durable step or follows from one. */
export async function runLld(deps: LldDependencies): Promise<LldResult> {
  const { issue, paths, journal, providers, prompts, budget, maxRounds, clock, signal, emit, onProgress, mask } = deps;
  const existing = await readLldFile(paths.lld(issue.id));
  const given = existing ? editedLld(existing, issue) : null;

  const { value: beginning } = await journal.step<Beginning>(
    { name: 'begin', inputs: { issue: issue.hash, given } },
    async () => {
      const commit = await deps.headCommit();
      const context = await deps.contextFor(await deps.openBase(commit), issue);
      return { commit, context, firstNumber: await nextVersionNumber(paths.lineage(issue.id)), givenDraft: given };
    },
  );
  const base = await deps.openBase(beginning.commit);
  const lineage = createLineage(paths.lineage(issue.id), beginning.firstNumber, (path) =>
    emit({ type: 'file-written', path: relative(paths.repository, path), what: 'lineage' }),
  );
  const call = createModelCaller({ journal, providers, budget, emit, onProgress, signal, clock });
  const ask = createLldQuestions({ issue, context: beginning.context, paths: base.paths, prompts, maxRounds, call });

  await lineage.add('issue', mask(issue.raw));
  // Something else stands in the LLD's place: it is kept before it is replaced.
  if (existing && !existing.untouched && given === null) await lineage.add('draft', mask(existing.body));
  const firstDraft = beginning.givenDraft ?? documentOf(await ask.draft());
  const outcome = await reviewLoop(firstDraft, {
    ask,
    check: (draft) => {
      const { findings, coverage } = checkLld(draft, { issueId: issue.id, tree: base });
      return { findings, coverage: formatCoverage(coverage) };
    },
    lineage,
    emit,
    maxRounds,
  });
  if (outcome.verdict === 'DISCUSS') {
    return { status: 'discuss', reason: outcome.reason, outputs: [paths.lineage(issue.id)] };
  }

  const body = withStatus(withReviewLog(outcome.text, formatReviewLog(outcome.ledger)), 'Approved');
  const by: ApprovedBy = {
    drafter: beginning.givenDraft === null ? providers.drafter.spec : 'a person',
    reviewer: providers.reviewer.spec,
    modelInvolved: providers.reviewer.isModel || (beginning.givenDraft === null && providers.drafter.isModel),
    rounds: outcome.rounds,
    baseCommit: beginning.commit,
  };
  const final = approvedLld(body, issue, by);
  signal.throwIfAborted();
  await lineage.add('final', final);
  await writeFileAtomic(paths.lld(issue.id), final);
  emit({ type: 'file-written', path: relative(paths.repository, paths.lld(issue.id)), what: 'lld' });
  return { status: 'succeeded', reason: null, outputs: [paths.lld(issue.id), paths.lineage(issue.id)] };
}

function documentOf(reply: string): string {
  const document = documentFromReply(reply);
  // A stored answer was accepted as a document before it was stored.
  return document.ok ? document.text : reply;
}
