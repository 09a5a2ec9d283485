import type { LldDocument } from '../documents/lld/document.ts';
import { guardsIn } from '../documents/lld/guards.ts';
import { isGuard, namesScenario } from '../documents/lld/scenarios.ts';
import { readReview, unusableReview } from '../documents/review/reader.ts';
import { isGuardFinding } from '../documents/review/review.ts';
import { guardsParts } from '../prompts/writing-tasks.ts';
import type { TestCase } from '../testing/port.ts';
import { testTitle } from '../verification/test-key.ts';
import type { ImplementDependencies } from './implement.ts';
import type { ModelCall } from './model-caller.ts';

/** The scenarios that hold before the code: those of the LLD, and those that the reviewer says are such. */
export interface Guards {
  readonly ids: ReadonlySet<string>;
  /**
   * Asks the reviewer about the scenarios whose tests all pass before the code, at most once about each. Returns what the
   * writer has to know of the answer. `diff`: the tests as they were written.
   */
  ask(round: number, tests: readonly TestCase[], diff: () => Promise<string>): Promise<string[]>;
  /** Those that are guards by the reviewer's word, for the report. */
  found(): string[];
}

export interface GuardsOptions {
  deps: Pick<ImplementDependencies, 'id' | 'title' | 'prompts'>;
  lld: LldDocument;
  call: (call: ModelCall<'reviewer'>) => Promise<string>;
}

export function createGuards({ deps, lld, call }: GuardsOptions): Guards {
  const { id, title, prompts } = deps;
  const ids = new Set(lld.scenarios.filter(isGuard).map((scenario) => scenario.id));
  const asked = new Set<string>();
  const found: string[] = [];

  return {
    ids,
    async ask(round, tests, diff) {
      const open = lld.scenarios.flatMap((scenario) => {
        const named = tests.filter(({ name, outcome }) => outcome !== 'skipped' && namesScenario(name, scenario.id));
        const isOpen = named.length > 0 && named.every(({ outcome }) => outcome === 'passed');
        return isOpen && !ids.has(scenario.id) && !asked.has(scenario.id) ? [{ ...scenario, tests: named }] : [];
      });
      if (open.length === 0) return [];
      for (const scenario of open) asked.add(scenario.id);
      const reply = await call({
        step: `guards-${round}`,
        role: 'reviewer',
        system: prompts.fill('code-reviewer'),
        parts: guardsParts(prompts, {
          id,
          title,
          lld: lld.text,
          diff: await diff(),
          scenarios: open.map((scenario) => ({ ...scenario, tests: scenario.tests.map(testTitle) })),
        }),
        unusable: unusableReview,
      });
      const review = readReview(reply);
      const said = guardsIn(review, open);
      const isAll =
        said.length > 0 && lld.scenarios.every((one) => ids.has(one.id) || said.some((s) => s.id === one.id));
      if (isAll)
        return ['every scenario holds before the code, so that no test shows that it is written: one has to fail'];
      for (const scenario of said) {
        ids.add(scenario.id);
        found.push(`scenario ${scenario.id} (${scenario.scenario}) is a guard, by the reviewer: it holds already`);
      }
      const others = review.findings.filter((finding) => finding.tier < 3 && !isGuardFinding(finding));
      return others.map(({ text }) => `the reviewer says of these tests: ${text}`);
    },
    found: () => found,
  };
}
