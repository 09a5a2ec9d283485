import { citationOf, type Evidence, evidenceIn, missingEvidence } from '../documents/already-done.ts';
import { isTrustworthy, readReview } from '../documents/review/reader.ts';
import { openCommit } from '../git/repository.ts';
import { boundedDiff } from '../prompts/bounded-diff.ts';
import { tagged, taggedList } from '../prompts/tags.ts';
import { askReviewer, keepReview, MOST_DIFF_CHARS, reviewsOf } from './code-review.ts';
import type { Decider } from './decide.ts';
import type { ItemResult } from './item.ts';
import { alreadyDoneReason, alreadyDoneRecord, createLineage, nextVersionNumber } from './lineage.ts';
import type { ImplementContext } from './worktree-item.ts';
import type { Instead, Judgement } from './writing.ts';

/**
 * If all new tests pass before the code, they are useless, or the work is done. The reviewer decides:
 *
 *   APPROVED, in the form that is trusted, with evidence in the base commit → skipped
 *   DISCUSS  → a person decides: skipped, dropped, or the tests are written again
 *   else     → the gate has failed
 */
export function createAlreadyDoneQuestion(
  context: ImplementContext,
  { decider, repository }: { decider: Decider; repository: string },
) {
  const { id, title, base, baseTree, git, prompts, worktree, emit, mask, paths, provider, models } = context;
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
    const facts = { body, evidence, by: { reviewer: models.last('reviewer') } };
    await lineage.add('verdict', mask(reply));
    const record = await lineage.add('final', alreadyDoneRecord(context, facts, await openCommit(git, base)));
    await worktree.remove();
    // The branch is deleted only if it is still at the base.
    await git.run(['update-ref', '-d', `refs/heads/${worktree.branch}`, base]).catch(() => undefined);
    return end({ status: 'skipped', reason: alreadyDoneReason(base, evidence.map(citationOf)), outputs: [record] });
  };

  return {
    /** Asks whether a design whose new tests all pass before the code is already done; null: no. */
    ask: async ({ tree, passing }: Judgement, round: number): Promise<Instead | null> => {
      if (passing === undefined || !provider('reviewer').isModel) return null;
      const diff = await worktree.diff(baseTree, tree);
      const parts = [
        tagged('tests', boundedDiff(diff, MOST_DIFF_CHARS)),
        prompts.fill('already-done', { id, title, tests: taggedList('passing-tests', passing) ?? '' }),
      ];
      const shown = [tagged('repository', repository)];
      const reply = await askReviewer(context, `already-done-${round}`, baseTree, parts, shown);
      const review = readReview(reply);
      const { verdict } = review;
      const { evidence, problems } = await evidenceOf(reply, tree);
      const open = review.findings.filter(({ tier }) => tier < 3).map(({ text }) => text.split('\n')[0] ?? '');
      const doubts = [...review.problems, ...open];
      if (evidence.length === 0) problems.push('no evidence');
      const said = `all new tests pass before the code; already done? The reviewer says ${verdict ?? 'nothing clear'}`;
      const against = verdict === 'APPROVED' ? [...doubts, ...problems] : [];
      emit({ type: 'notice', text: [said, ...against].join('; ') });
      if (verdict === 'APPROVED' && against.length === 0) return skip(reply, evidence);
      if (verdict !== 'DISCUSS' || !isTrustworthy(review)) return null;

      await keepReview(context, 1, reply);
      const questions = review.questionsForOrchestrator;
      const asks = questions.length === 0 ? '' : ` The reviewer asks: ${questions.join(' / ')}`;
      const reason = `all new tests pass before the code; is it already done?${asks}`;
      const decision = await decider.ask({ reason, text: diff, openQuestions: questions });
      switch (decision?.kind) {
        case undefined:
          await worktree.restore(tree);
          return end({ status: 'discuss', reason, outputs: [reviewsOf(context), worktree.directory] });
        case 'approve':
          return skip(reply, evidence);
        case 'drop':
          return end(await decider.drop(decision));
        case 'revise':
          return { failures: [`A person asks for this change: ${decision.change ?? decision.document}`] };
      }
    },
    /** The end of the item, if the answer ended it. */
    ended: (): ItemResult | null => ended,
  };
}
