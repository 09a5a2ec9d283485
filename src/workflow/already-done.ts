import { basename, dirname, join } from 'node:path';
import { citationOf, type Evidence, evidenceIn, missingEvidence } from '../documents/already-done.ts';
import { isTrustworthy, readReview, unusableReview } from '../documents/review/reader.ts';
import { openCommit } from '../git/repository.ts';
import { makeOwnFolder, writeFileAtomic } from '../process/files.ts';
import { alreadyDoneParts } from '../prompts/writing-tasks.ts';
import { alreadyDoneReason, alreadyDoneRecord } from './closed.ts';
import type { Decider } from './decide.ts';
import type { ImplementContext } from './implement-item.ts';
import type { ItemResult } from './item.ts';
import { createLineage, nextVersionNumber } from './lineage.ts';
import type { Instead, Judgement } from './writing.ts';

export interface AlreadyDoneQuestion {
  /** Asks whether a design whose new tests all pass before the code is done already; null: that is not shown. */
  ask(judgement: Judgement, round: number): Promise<Instead | null>;
  /** How the item ended by that; null: it did not. */
  ended(): ItemResult | null;
}

/**
 * New tests that all pass before the code are useless, or the work is done. The reviewer says which:
 *
 *   APPROVED, in the form that is trusted, with evidence that is there → skipped
 *   DISCUSS  → a person decides: skipped, dropped, or the tests are written again
 *   else     → the gate has failed. An approval that names no line of the base commit is not one
 */
export function createAlreadyDoneQuestion(
  context: ImplementContext,
  { decider, repository, reviews }: { decider: Decider; repository: string; reviews: string },
): AlreadyDoneQuestion {
  const { id, title, lld, base, baseTree, git, prompts, worktree, emit, mask, paths, provider, models } = context;
  let ended: ItemResult | null = null;
  const end = (result: ItemResult): Instead => {
    ended = result;
    return 'end';
  };

  const evidenceOf = async (reply: string, tree: string): Promise<{ evidence: Evidence[]; problems: string[] }> => {
    const at = await openCommit(git, base);
    const written = new Set((await worktree.changes(baseTree, tree)).map(({ path }) => path));
    const evidence: Evidence[] = [];
    const problems: string[] = [];
    for (const cited of evidenceIn(reply)) {
      const missing = written.has(cited.path) ? `${cited.path} was just written` : await missingEvidence(cited, at);
      if (missing === null) evidence.push(cited);
      else problems.push(missing);
    }
    return { evidence, problems };
  };

  const skip = async (reply: string, evidence: readonly Evidence[]): Promise<Instead> => {
    const folder = paths.lineage(id);
    const { value } = await context.step({ name: 'already-done', inputs: { reply } }, async () => ({
      number: nextVersionNumber(folder),
    }));
    const lineage = createLineage(context, folder, value.number);
    const body = `# Already done: ${title.replace(/\s+/g, ' ').trim()}\n\nAll new tests passed before the code.\n`;
    const facts = { body, evidence, by: { reviewer: models.last('reviewer') ?? provider('reviewer').spec } };
    await lineage.add('verdict', mask(reply));
    const record = await lineage.add('final', alreadyDoneRecord(context, facts, await openCommit(git, base)));
    await worktree.remove();
    // It is where it began, unless a person used it.
    await git.run(['update-ref', '-d', `refs/heads/${worktree.branch}`, base]).catch(() => undefined);
    return end({ status: 'skipped', reason: alreadyDoneReason(base, evidence.map(citationOf)), outputs: [record] });
  };

  return {
    async ask({ tree, passing }, round) {
      if (passing === undefined || !provider('reviewer').isModel) return null;
      const diff = await worktree.diff(baseTree, tree);
      const reply = await context.ask({
        step: `already-done-${round}`,
        role: 'reviewer',
        system: prompts.fill('code-reviewer'),
        parts: alreadyDoneParts(prompts, { id, title, lld: lld.text, repository, diff, passing }),
        at: { commit: base, tree: baseTree },
        unusable: unusableReview,
      });
      const review = readReview(reply);
      const { verdict } = review;
      const { evidence, problems } = await evidenceOf(reply, tree);
      const open = review.findings.filter(({ tier }) => tier < 3).map(({ text }) => text.split('\n')[0] ?? '');
      const doubts = [...(isTrustworthy(review) ? [] : review.problems.map(({ message }) => message)), ...open];
      if (evidence.length === 0) problems.push('no evidence');
      const said = `all new tests pass before the code; already done? The reviewer says ${verdict ?? 'nothing clear'}`;
      const against = verdict === 'APPROVED' ? [...doubts, ...problems] : [];
      emit({ type: 'notice', text: [said, ...against].join('; ') });
      if (verdict === 'APPROVED' && against.length === 0) return skip(reply, evidence);
      if (verdict !== 'DISCUSS' || !isTrustworthy(review)) return null;

      await keepReview(reviews, 'review-1.md', mask(reply));
      const questions = review.questionsForOrchestrator;
      const reason = `all new tests pass before the code; is it already done?${questions.length === 0 ? '' : ` The reviewer asks: ${questions.join(' / ')}`}`;
      const decision = await decider.ask({
        reason,
        text: diff,
        review: reply,
        obstacle: null,
        openQuestions: questions,
      });
      switch (decision?.kind) {
        case undefined:
          await worktree.restore(tree);
          return end({ status: 'discuss', reason, outputs: [reviews, worktree.directory] });
        case 'approve':
          return skip(reply, evidence);
        case 'drop':
          return end(await decider.drop(decision));
        case 'revise':
          return { failures: [`A person asks for this change: ${decision.change ?? decision.document}`] };
      }
    },
    ended: () => ended,
  };
}

/** Beside what programs of the item write: whatever they left there, it goes nowhere else. */
export async function keepReview(folder: string, name: string, text: string): Promise<void> {
  await writeFileAtomic(join(await makeOwnFolder(dirname(folder), basename(folder)), name), text);
}
