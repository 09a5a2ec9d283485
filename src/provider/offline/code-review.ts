import { formatCoverage } from '../../governance/coverage.ts';
import { checkLld } from '../../governance/lld/checks.ts';
import { type LldDocument, readLld } from '../../governance/lld/document.ts';
import type { Material } from '../../governance/material.ts';
import { inline } from './inline.ts';
import { isTestPath } from './issue-files.ts';
import { changesOfDiff, changesOfSteps, type LineChanges, sameChanges } from './line-changes.ts';
import { recordedCode } from './recorded-code.ts';
import { type RuledFinding, renderReview } from './review-form.ts';

type CodeReviewMaterial = Extract<Material, { task: 'code-review' }>;

/** The recorded review, for the very code that it was recorded for; null for anybody's own. */
export function recordedCodeReview({ lld, diff }: CodeReviewMaterial): string | null {
  const recording = recordedCode(lld);
  const changes = recording && changesOfDiff(diff);
  if (!changes) return null;
  return sameChanges(changes, changesOfSteps([...recording.tests, ...recording.code])) ? recording.review : null;
}

/**
 * Judges by what a rule can see: whether the gates passed, and whether only files changed that the design names. Where
 * there is nothing to judge by, a person has to.
 */
export function reviewCodeByRules({ issue, lld, diff, evidence }: CodeReviewMaterial): string {
  const design = readLld(lld);
  const changes = changesOfDiff(diff);
  const { coverage } = checkLld(lld);
  const passed = evidence
    .filter((gate) => gate.passed)
    .map(({ gate, summary }) => (summary === '' ? inline(gate) : `${inline(gate)} (${inline(summary)})`));
  const findings = [
    ...evidence.filter(({ passed }) => !passed).map(gateFinding),
    ...(changes ? filesOutside(design, changes) : []),
    ...(changes?.size === 0 ? [NOTHING_CHANGED] : []),
  ];
  const questions = [
    ...(changes ? [] : ["The diff can't be read: what was changed?"]),
    ...(evidence.length > 0 ? [] : ['No gate was checked: does the code do what the design says?']),
  ];
  return renderReview({
    kind: 'Code',
    issue,
    summary: `I judge by rules only. Gates that passed: ${passed.join(', ') || 'none'}. Files in the diff: ${changes?.size ?? 'not known'}. Whether the code is good is for a person or a model to say.`,
    openQuestions: null,
    coverage: formatCoverage(coverage),
    isCovered: coverage.total > 0 && coverage.covered === coverage.total,
    findings,
    suggestions: changes ? suggestionsOn(design, changes) : [],
    questions,
    verdict: findings.length > 0 ? 'REVISE' : questions.length > 0 ? 'DISCUSS' : 'APPROVED',
  });
}

const NOTHING_CHANGED: RuledFinding = {
  area: 'Quality',
  title: 'Nothing changed',
  text: 'The diff is empty.',
  recommendation: 'Build what section 2 describes.',
};

function gateFinding({ gate, summary }: CodeReviewMaterial['evidence'][number]): RuledFinding {
  return {
    area: 'Quality',
    title: `Gate ${inline(gate)}`,
    text: 'It did not pass.',
    recommendation: summary || 'Look at its evidence.',
  };
}

/** More tests than the design lists do no harm; other code than it lists was reviewed by nobody. */
function filesOutside({ files }: LldDocument, changes: LineChanges): RuledFinding[] {
  return outside(files, changes)
    .filter((path) => !isTestPath(path))
    .map((path) => ({
      area: 'Architecture',
      title: 'Outside of the design',
      text: `${inline(path)} is changed, and section 2.1 doesn't list it.`,
      recommendation: `Leave ${path} as it was.`,
    }));
}

function suggestionsOn({ files, scenarios }: LldDocument, changes: LineChanges): string[] {
  const added = [...changes].filter(([path]) => isTestPath(path)).flatMap(([, lines]) => [...lines.keys()]);
  const isNamed = (id: string): boolean => added.some((line) => new RegExp(`(?<!\\d)${escape(id)}(?!\\d)`).test(line));
  const unnamed = scenarios.map(({ id }) => id).filter((id) => !isNamed(id));
  const untouched = files.map(({ path }) => path).filter((path) => !changes.has(path));
  const moreTests = outside(files, changes).filter(isTestPath);
  return [
    ...(unnamed.length === 0 ? [] : [`**Scenarios:** no test in the diff names ${listed(unnamed)}.`]),
    ...(untouched.length === 0 ? [] : [`**Not changed:** section 2.1 lists ${listed(untouched)}.`]),
    ...(moreTests.length === 0 ? [] : [`**More tests:** section 2.1 doesn't list ${listed(moreTests)}.`]),
  ];
}

function outside(files: LldDocument['files'], changes: LineChanges): string[] {
  return [...changes.keys()].filter((path) => !files.some((file) => file.path === path));
}

function listed(names: string[]): string {
  return names.map((name) => inline(name)).join(', ');
}

function escape(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
}
