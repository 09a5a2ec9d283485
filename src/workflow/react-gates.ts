import { type Reaction, type ReviewRequest, reactBranch } from '../core/reaction.ts';
import { designFacts, readLld } from '../documents/lld/document.ts';
import { type Merge, mergeTrees } from '../git/merge.ts';
import { openCommit, readAt } from '../git/repository.ts';
import { type ProvenTest, provenTests } from '../verification/report-reader.ts';
import { evidenceOf } from '../verification/test-key.ts';
import { ALWAYS, namesFile, type Rule, unaskedRule } from './forbidden.ts';
import { changedFiles } from './implementations.ts';
import type { ItemContext } from './item.ts';
import { conflictLeft, coverageTarget, createGateLog, type GateLog, judgeFinished, reverseWithout } from './judging.ts';
import type { Tests } from './test-runs.ts';
import { type ImplementContext, openInWorktree, suiteFor, type WorktreeParts } from './worktree-item.ts';
import type { Writing } from './writing.ts';

/** What the worker provides for a reaction. */
export interface ReactParts extends WorktreeParts {
  reaction: Reaction;
  /** The design on the branch of the pull request. */
  lldText: string;
}

/** A reaction in its worktree. Its base is the base of the pull request. */
export interface ReactContext extends ImplementContext {
  reaction: Reaction;
  /** The tree of the pull request. */
  headTree: string;
  /** With the base merged into it, if that has moved; may hold conflict markers. */
  startTree: string;
  /** Files that the pull request changes. */
  own: ReadonlySet<string>;
  /** Null: nothing is in conflict. */
  conflict: Merge | null;
  /** The tests that prove the implementation. */
  proven: readonly ProvenTest[];
  testFiles: readonly string[];
  /** Test files that may be changed. */
  openTests: readonly string[];
}

/** Opens the worktree at the base, and merges the base into the pull request if it has moved. */
export async function openReaction(item: ItemContext, parts: ReactParts): Promise<ReactContext> {
  const { git, reaction, lldText } = parts;
  const { head, isBaseMoved } = reaction;
  const writer = parts.createWriter();
  const base = isBaseMoved ? reaction.base.commit : await git.text(['merge-base', head, reaction.base.commit]);
  const { files } = designFacts(lldText);
  const opened = await openInWorktree(item, parts, { base, branch: reactBranch(item.id), isUntouched: true, files });
  const suite = await suiteFor(opened, files);
  const headTree = await opened.worktree.treeOf(head);
  const merge = isBaseMoved ? await mergeOf(item, parts) : null;
  const conflict = merge !== null && merge.conflicts.length > 0 ? merge : null;
  const [report = null] = await readAt(git, [{ ref: head, path: item.paths.report(item.id) }]);
  const testFiles = (await openCommit(git, head)).paths.filter((path) => suite.isTestFile(path));
  return {
    ...opened,
    lld: readLld(lldText),
    writer,
    suite,
    on: [],
    forecast: '',
    headTree,
    startTree: merge?.tree ?? headTree,
    own: new Set(await changedFiles(git, base, head)),
    conflict,
    proven: provenTests(report ?? ''),
    testFiles,
    openTests: openTestsIn({ testFiles, conflict }, reaction.reviews),
  };
}

async function mergeOf(item: ItemContext, { git, reaction }: ReactParts): Promise<Merge> {
  const { head, base } = reaction;
  const inputs = { ours: head, theirs: base.commit };
  return (await item.step({ name: 'merge', inputs }, () => mergeTrees(git, head, base.commit))).value;
}

/** Tests are frozen, except those in conflict and those that a remark is about, by its line or by their name in its text. */
export function openTestsIn(
  { testFiles, conflict }: Pick<ReactContext, 'testFiles' | 'conflict'>,
  reviews: readonly ReviewRequest[],
): string[] {
  const inConflict = new Set(conflict?.conflicts.map(({ path }) => path));
  return testFiles.filter(
    (file) => inConflict.has(file) || reviews.some(({ path, body }) => path === file || namesFile(body, file)),
  );
}

export interface ReactGates extends Pick<GateLog, 'evidence' | 'undone'> {
  judge: Writing['judge'];
  limit: NonNullable<Writing['limit']>;
}

/**
 * The gates of an implementation for a change that exists: nothing that passed on the base is broken; the tests that prove
 * the design pass, and fail without the code. Tests stay as they were, except those that may be changed.
 */
export function reactGates(context: ReactContext, tests: Tests | null): ReactGates {
  const { worktree, suite, lld, baseTree, headTree, startTree, own, conflict, proven, reaction } = context;
  const gateLog = createGateLog(context);
  const { show, allowed, undone } = gateLog;
  const inConflict = conflict?.conflicts.map(({ path }) => path) ?? [];
  const open = new Set(context.openTests);
  const texts = [...reaction.checks.map(({ log }) => log), ...reaction.reviews.map(({ body }) => body)];
  const frozen: Rule = {
    name: '',
    why: 'no reviewer asked for a change to these tests',
    advice: 'the tests are frozen, and no remark is about this file',
    forbids: ({ path, kind }) => suite.isTestFile(path) && kind !== 'added' && !open.has(path),
  };

  return {
    async judge(tree, step, round) {
      const left = await conflictLeft(context, tree, inConflict);
      if (left !== null || tests === null) return left ?? { tree, problems: [], gate: '' };
      const ownTests = (await worktree.changes(baseTree, headTree)).filter(({ path }) => suite.isTestFile(path));
      const summary = `${ownTests.length} test ${ownTests.length === 1 ? 'file' : 'files'} of this change, ${open.size} open to changes`;
      show(evidenceOf('frozen', null, { summary, details: undone().flatMap(({ paths }) => paths) }), round);
      const covered = (await worktree.changes(baseTree, tree))
        .filter(({ path, kind }) => kind !== 'deleted' && !suite.isTestFile(path))
        .map(({ path }) => path);
      return judgeFinished(gateLog, tests, {
        tree,
        step,
        round,
        proven: open.size === 0 ? proven.map(({ name }) => name) : [],
        changed: new Set([...own, ...open]),
        covered: new Set(covered),
        target: coverageTarget(context, [lld]),
        reverse: async (run) => {
          const asked = { run, proven, tree, without: baseTree, step: `reverse-${step}` };
          const skipped = 'the report names no test of this change';
          return [(await reverseWithout(context, tests, asked)) ?? evidenceOf('reverse', null, { skipped })];
        },
      });
    },

    async limit(left, step, failures) {
      const reason = {
        why: 'neither part of this change nor named by what happened to it',
        advice: 'it is neither part of this change nor named by a check or remark',
      };
      const unasked = unaskedRule(
        reason,
        [...texts, ...failures],
        ({ path, kind }) => kind === 'added' || own.has(path) || inConflict.includes(path),
      );
      return allowed(left, startTree, step, [...ALWAYS, frozen, unasked]);
    },

    evidence: gateLog.evidence,
    undone,
  };
}
