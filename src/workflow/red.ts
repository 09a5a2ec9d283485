import type { GateEvidence } from '../core/gate.ts';
import { oneLine } from '../core/lines.ts';
import { type Evidence, evidenceIn, missingEvidence } from '../documents/already-done.ts';
import { guardsIn, isGuard, isGuardFinding, type LldScenario, namesScenario } from '../documents/lld/scenarios.ts';
import { isTrustworthy, readReview } from '../documents/review/reader.ts';
import { type BaseCommit, openCommit } from '../git/repository.ts';
import { boundedDiff } from '../prompts/bounded-diff.ts';
import { tagged, taggedList } from '../prompts/tags.ts';
import { isRead, type TestCase } from '../testing/port.ts';
import { isForGuards, redGate, scenarioGate } from '../verification/red.ts';
import { newTests, testTitle } from '../verification/test-results.ts';
import { askReviewer, keepReview, MOST_DIFF_CHARS, reviewsOf } from './code-review.ts';
import type { Decider } from './decide.ts';
import type { ItemResult } from './item.ts';
import { createLineage, endAsDone, nextVersionNumber } from './lineage.ts';
import { selection, type Tests } from './tests.ts';
import type { DesignedContext } from './worktree-item.ts';
import type { Written } from './writing.ts';

/** The scenarios that hold before the code: by the LLD, or by the reviewer's answer. */
export function createGuards(context: DesignedContext) {
  const { id, title, lld, prompts, worktree, baseTree } = context;
  const ids = new Set(lld.scenarios.filter(isGuard).map((scenario) => scenario.id));
  const asked = new Set<string>();
  const found: string[] = [];

  return {
    ids,
    /** Asks the reviewer about each scenario whose tests all pass before the code, once. Returns notes for the writer. */
    async ask(round: number, tests: readonly TestCase[], tree: string): Promise<string[]> {
      const open = lld.scenarios.flatMap((scenario) => {
        const named = tests.filter(({ name, outcome }) => outcome !== 'skipped' && namesScenario(name, scenario.id));
        const isOpen = named.length > 0 && named.every(({ outcome }) => outcome === 'passed');
        return isOpen && !ids.has(scenario.id) && !asked.has(scenario.id) ? [{ ...scenario, tests: named }] : [];
      });
      if (open.length === 0) return [];
      for (const scenario of open) asked.add(scenario.id);
      const list = open.map((scenario) => {
        const titles = scenario.tests.map(testTitle);
        return `${scenarioLine(scenario)}. Passing: ${titles.join(', ')}`;
      });
      const reply = await askReviewer(context, `guards-${round}`, tree, [
        tagged('tests', boundedDiff(await worktree.diff(baseTree, tree), MOST_DIFF_CHARS)),
        prompts.fill('guards', { id, title, scenarios: taggedList('scenarios', list) ?? '' }),
      ]);
      const review = readReview(reply);
      const said = guardsIn(review, open);
      const isAll =
        said.length > 0 && lld.scenarios.every((one) => ids.has(one.id) || said.some((s) => s.id === one.id));
      if (isAll)
        return ['every scenario holds before the code, so no test can show that it is written: one has to fail'];
      for (const scenario of said) {
        ids.add(scenario.id);
        found.push(`scenario ${scenario.id} (${scenario.scenario}) is a guard, by the reviewer: it holds already`);
      }
      const others = review.findings.filter((finding) => finding.tier < 3 && !isGuardFinding(finding));
      return others.map(({ text }) => `the reviewer says of these tests: ${text}`);
    },
    /** Those that are guards by the reviewer's answer, for the report. */
    found: () => found,
  };
}

export function scenarioLine({ id, scenario, pass }: Pick<LldScenario, 'id' | 'scenario' | 'pass'>): string {
  return `${id} ${scenario}${pass === '' ? '' : `. Passes when: ${pass}`}`;
}

interface Red {
  gates: GateEvidence[];
  /** The new tests. */
  tests: TestCase[];
  /** For the writer, in addition to the gates' problems. */
  notes: string[];
  /** All new tests pass before the code. */
  isGreen: boolean;
}

/** Runs the new tests before the code is written: guards have to pass, all others have to fail because the code is missing. */
export async function checkRed(
  { lld, worktree, baseTree, config, suite }: DesignedContext,
  { run: runTests, baseline }: Tests,
  guards: ReturnType<typeof createGuards>,
  { tree, files, round }: { tree: string; files: readonly string[]; round: number },
): Promise<Red> {
  const { scenarios } = lld;
  const asked = { lacksCode: true, isFollowed: true };
  const run = await runTests({ step: `red-${round}`, tree, ...asked, ...selection(files) });
  const tests = newTests(run, baseline, new Set(files));
  tests.push(...(await unseenGuards(tests)));
  // Under `verify` a test that passes too early is only reported, which is not worth a paid question.
  const notes = config.implement.policy === 'strict' ? await guards.ask(round, tests, tree) : [];
  const pathsOf = (change: string): string[] =>
    lld.files.filter((file) => file.change === change).map((file) => file.path);
  const red = redGate({
    run,
    tests,
    files,
    baseline,
    scenarios,
    guards: guards.ids,
    changes: { added: pathsOf('Add'), modified: pathsOf('Modify') },
    worktree: run.directory,
    folders: suite.folders,
  });
  red.details.unshift(...guards.found());
  if (!isRead(run)) return { gates: [red], tests, notes, isGreen: false };
  const notLoaded = new Map<string, string>();
  for (const file of run.loadFailures.length > 0 ? files : []) {
    if (run.cases.some((test) => test.file === file)) continue;
    notLoaded.set(file, newLines(await worktree.read(baseTree, file), (await worktree.read(tree, file)) ?? ''));
  }
  const named = scenarioGate({ scenarios, tests, notLoaded });
  const isLoaded = run.loadFailures.every(({ file }) => baseline.notLoaded.includes(file ?? ''));
  const isGreen = named.passed && isLoaded && tests.length > 0 && tests.every(({ outcome }) => outcome === 'passed');
  return { gates: [named, red], tests, notes, isGreen };

  /** A compiler builds no test of a package if one needs missing code: then the files that name guards run without the others. */
  async function unseenGuards(seen: readonly TestCase[]): Promise<TestCase[]> {
    const unseen = scenarios.filter(
      ({ id }) => guards.ids.has(id) && !seen.some(({ name }) => namesScenario(name, id)),
    );
    if (unseen.length === 0 || run.loadFailures.length === 0) return [];
    const texts = await Promise.all(files.map(async (file) => (await worktree.read(tree, file)) ?? ''));
    const own = files.filter((_, at) => unseen.some(({ id }) => namesScenario(texts[at] ?? '', id)));
    const others = files.filter((file) => !own.includes(file));
    if (own.length === 0 || others.length === 0) return [];
    const alone = await worktree.withPathsFrom(tree, baseTree, others);
    const found = await runTests({ step: `red-${round}-guards`, tree: alone, ...asked, ...selection(own) });
    return newTests(found, baseline, new Set(own)).filter((test) => isForGuards(test, scenarios, guards.ids));
  }
}

/** The text with old lines left empty, so that only new lines count and line numbers stay the same. */
function newLines(before: string | null, text: string): string {
  const known = new Set(before?.split('\n') ?? []);
  return text
    .split('\n')
    .map((line) => (known.has(line) ? '' : line))
    .join('\n');
}

/**
 * If all new tests pass before the code, they are useless, or the work is done. The reviewer decides:
 *
 *   APPROVED, in the form that is trusted, with evidence in the base commit → skipped
 *   DISCUSS  → a person decides: skipped, dropped, or the tests are written again, for which the change is returned
 *   else     → null: the gate has failed
 *
 * `repository`: what the models are shown of it.
 */
export async function askAlreadyDone(
  context: DesignedContext,
  { decider, repository }: { decider: Decider; repository: string },
  { tree, round }: Pick<Written, 'tree' | 'round'>,
  passing: readonly string[],
): Promise<ItemResult | string[] | null> {
  const { id, title, base, baseTree, git, prompts, worktree, emit, provider } = context;
  if (!provider('reviewer').isModel) return null;
  const diff = await worktree.diff(baseTree, tree);
  const parts = [
    tagged('tests', boundedDiff(diff, MOST_DIFF_CHARS)),
    prompts.fill('already-done', { id, title, tests: taggedList('passing-tests', passing) ?? '' }),
  ];
  const reply = await askReviewer(context, `already-done-${round}`, baseTree, parts, [
    tagged('repository', repository),
  ]);
  const review = readReview(reply);
  const { verdict, questionsForOrchestrator: questions } = review;
  const at = await openCommit(git, base);
  const written = new Set((await worktree.changes(baseTree, tree)).map(({ path }) => path));
  const evidence: Evidence[] = [];
  const problems = [...review.problems];
  problems.push(...review.findings.filter(({ tier }) => tier < 3).map(({ text }) => text.split('\n')[0] ?? ''));
  for (const cited of evidenceIn(reply)) {
    const missing = written.has(cited.path) ? `${cited.path} was just written` : await missingEvidence(cited, at);
    if (missing === null) evidence.push(cited);
    else problems.push(missing);
  }
  if (evidence.length === 0) problems.push('no evidence');
  const said = `all new tests pass before the code; already done? The reviewer says ${verdict ?? 'nothing clear'}`;
  const against = verdict === 'APPROVED' ? problems : [];
  emit({ type: 'notice', text: [said, ...against].join('; ') });
  if (verdict === 'APPROVED' && against.length === 0) return skipDone(context, reply, evidence, at);
  if (verdict !== 'DISCUSS' || !isTrustworthy(review)) return null;

  await keepReview(context, 1, reply);
  const asks = questions.length === 0 ? '' : ` The reviewer asks: ${questions.join(' / ')}`;
  const reason = `all new tests pass before the code; is it already done?${asks}`;
  const decision = await decider.ask({ reason, text: diff, openQuestions: questions });
  switch (decision?.kind) {
    case undefined:
      await worktree.restore(tree);
      return { status: 'discuss', reason, outputs: [reviewsOf(context), worktree.directory] };
    case 'approve':
      return skipDone(context, reply, evidence, at);
    case 'drop':
      return decider.drop(decision);
    case 'revise':
      return [`A person asks for this change: ${decision.change ?? decision.document}`];
  }
}

async function skipDone(
  context: DesignedContext,
  reply: string,
  evidence: readonly Evidence[],
  at: BaseCommit,
): Promise<ItemResult> {
  const { id, title, base, git, worktree, mask, paths, models } = context;
  const folder = paths.lineage(id);
  const { value } = await context.step({ name: 'already-done', inputs: { reply } }, async () => ({
    number: nextVersionNumber(folder),
  }));
  const lineage = createLineage(context, folder, value.number);
  const body = `# Already done: ${oneLine(title)}\n\nAll new tests passed before the code.\n`;
  await lineage.add('verdict', mask(reply));
  const ended = await endAsDone(context, lineage, { body, evidence, by: { reviewer: models.last('reviewer') } }, at);
  await worktree.remove();
  // The branch is deleted only if it is still at the base.
  await git.run(['update-ref', '-d', `refs/heads/${worktree.branch}`, base]).catch(() => undefined);
  return ended;
}
