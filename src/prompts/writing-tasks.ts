import type { GateEvidence } from '../core/gate.ts';
import { oneLine } from '../core/lines.ts';
import { bulletsOf, gateTable } from '../documents/implementation/markdown-text.ts';
import { formatLedger, type Ledger, openFindings } from '../documents/ledger.ts';
import type { LldFile } from '../documents/lld/files-table.ts';
import { isGuard, type LldScenario } from '../documents/lld/scenarios.ts';
import type { Prompts } from './prompts.ts';
import { tagged } from './tags.ts';

/** What a writer has to know, whichever phase it is called for. */
export interface WritingTask {
  id: string;
  title: string;
  /** The body of the LLD. */
  lld: string;
  scenarios: readonly LldScenario[];
  files: readonly LldFile[];
  /** What is shown of the repository. */
  repository: string;
  /** Tests that are there and touch the files. */
  existingTests: readonly string[];
  isTestFile: (path: string) => boolean;
  /** Whose report is read. */
  runner: string;
  /** As a person would type it. */
  command: string;
}

const MOST_FAILURES = 50;
const MOST_FAILURE_CHARS = 3_000;
const MOST_DIFF_CHARS = 200_000;
const MOST_CHANGES_CHARS = 50_000;

/** Each task is one whole text, the LLD included: a command gets nothing else. */
export function testsTask(prompts: Prompts, task: WritingTask): string {
  return withLld(task, testsRules(prompts, task));
}

export function codeTask(prompts: Prompts, task: WritingTask): string {
  return withLld(task, codeRules(prompts, task));
}

/** What the engine or the reviewer found in the last try; `review` is the review that asks for it, in full. */
export interface WritingAgain {
  phase: 'tests' | 'code';
  failures: readonly string[];
  review?: string;
  /** The files that the review allows to be changed. */
  mayChange?: readonly string[];
}

/** The phase's task again, with what was found. */
export function againTask(prompts: Prompts, task: WritingTask, asked: WritingAgain): string {
  const { phase, failures, review, mayChange } = asked;
  const rules = phase === 'tests' ? testsRules(prompts, task) : codeRules(prompts, task);
  const again = prompts.fill('write-again', { failures: tagged('failures', failureList(failures)) });
  const limits = mayChange === undefined ? [] : [`${ONLY_THESE}\n\n${listIn('may-change', mayChange) ?? ''}`];
  return withLld(task, rules, ...(review === undefined ? [] : [tagged('review', review)]), ...limits, again);
}

const ONLY_THESE =
  'Of the files that are there, change only those that the review names. New files may be added; any other change is undone:';

/** The open findings of a code review, as failures for `againTask`. */
export function findingFailures(ledger: Ledger): string[] {
  return openFindings(ledger).map(
    ({ id, tier, area, text }) => `${id} (Tier ${tier}${area === '' ? '' : `, ${area}`}): ${text}`,
  );
}

function withLld({ lld, repository, existingTests }: WritingTask, ...parts: string[]): string {
  const tests = listIn('existing-tests', existingTests);
  const shown = [
    ...(repository === '' ? [] : [tagged('repository', repository)]),
    ...(tests === null ? [] : [`Existing tests that touch the files of this design, and must still pass:\n\n${tests}`]),
  ];
  return [tagged('lld', lld), ...shown, ...parts].join('\n\n');
}

function testsRules(
  prompts: Prompts,
  { id, title, scenarios, files, isTestFile, runner, command }: WritingTask,
): string {
  const tests = files.filter(({ path }) => isTestFile(path));
  const added = files.filter(({ path, change }) => change === 'Add' && !isTestFile(path));
  return prompts.fill('write-tests', {
    id,
    title,
    runner,
    command: oneLine(command),
    scenarios:
      listIn(
        'scenarios',
        scenarios.map((one) => `${scenarioLine(one)}${isGuard(one) ? ' (Guard)' : ''}`),
      ) ?? 'The LLD names no scenario: test each of its requirements.',
    'test-files':
      listIn('test-files', tests.map(fileLine)) ??
      'The LLD names none: put them where this repository keeps its tests, so that they are found.',
    added: listIn('added-files', added.map(fileLine)) ?? 'None: the change is in files that are there.',
  });
}

function codeRules(prompts: Prompts, { id, title, files, isTestFile, runner, command }: WritingTask): string {
  const code = files.filter(({ path }) => !isTestFile(path));
  return prompts.fill('write-code', {
    id,
    title,
    runner,
    command: oneLine(command),
    files: listIn('files', code.map(fileLine)) ?? 'The LLD names none.',
  });
}

function scenarioLine({ id, scenario, pass }: Pick<LldScenario, 'id' | 'scenario' | 'pass'>): string {
  return `${id} ${scenario}${pass === '' ? '' : `. Passes when: ${pass}`}`;
}

function fileLine({ path, change, description }: LldFile): string {
  return `\`${path}\` (${change})${description === '' ? '' : `: ${description}`}`;
}

/** Each entry as one line, in a tag: what the fields of a document say is material too. Null: there is no entry. */
function listIn(tag: string, entries: readonly string[]): string | null {
  return entries.length === 0 ? null : tagged(tag, entries.map((entry) => `- ${oneLine(entry)}`).join('\n'));
}

export function failureList(failures: readonly string[]): string {
  const shown = failures.slice(0, MOST_FAILURES).map((failure) => {
    const text = failure.trim();
    const bounded = text.length > MOST_FAILURE_CHARS ? `${text.slice(0, MOST_FAILURE_CHARS - 1)}…` : text;
    return `- ${bounded.replace(/\n/g, '\n  ')}`;
  });
  if (failures.length > MOST_FAILURES) shown.push(`- … and ${failures.length - MOST_FAILURES} more`);
  return shown.join('\n');
}

/** A piece of a prompt; those that stay the same over the rounds come first, for prompt caches. */
export interface TaskPart {
  text: string;
  repeats?: boolean;
}

export interface CodeReviewTask {
  id: string;
  title: string;
  lld: string;
  evidence: readonly GateEvidence[];
  /** Other designs that touch this one; empty where none does. */
  forecast: string;
  diff: string;
  /** The changed files whole, and who uses them; empty where there is nothing beside the diff. */
  code: string;
  /** Since the last round, as a diff; null in the first. */
  changes: string | null;
  /** What was undone of the revision before this round. */
  undone: readonly { paths: readonly string[]; why: string }[];
  ledger: Ledger;
  round: number;
  maxRounds: number;
  /** A review that can't be acted on, and why. */
  again?: { earlier: string; problems: readonly string[] };
}

export function codeReviewParts(prompts: Prompts, material: CodeReviewTask): TaskPart[] {
  const { id, title, lld, evidence, forecast, diff, code, changes, undone, ledger, round, maxRounds, again } = material;
  const parts = [tagged('change', boundedDiff(diff, MOST_DIFF_CHARS)), tagged('gates', evidenceText(evidence))];
  if (code !== '') parts.splice(1, 0, tagged('changed-files', code));
  if (round > 1) parts.push(tagged('findings-ledger', formatLedger(ledger)));
  if (changes !== null) {
    const shown = changes === '' ? 'None: the change is the same as in the last round.' : changes;
    parts.push(tagged('changes-since-last-round', boundedDiff(shown, MOST_CHANGES_CHARS)));
  }
  if (undone.length > 0) {
    const list = undone.map(({ paths, why }) => `- ${paths.join(', ')}: ${why}`).join('\n');
    parts.push(tagged('undone-in-the-revision', `${list}\n\n${NAME_IT}`));
  }
  parts.push(prompts.fill('code-review', { id, title, round, 'max-rounds': maxRounds }));
  if (again !== undefined) {
    const problems = listIn('problems', again.problems) ?? '';
    parts.push(tagged('your-review', again.earlier), prompts.fill('review-again', { problems }));
  }
  const repeating = [tagged('lld', lld), ...(forecast === '' ? [] : [forecast])];
  return [...repeating.map((text) => ({ text, repeats: true })), ...parts.map((text) => ({ text }))];
}

const NAME_IT =
  'The revision may change only files that a finding names. If one of these has to change, name its path in a finding.';

export interface GuardsTask {
  id: string;
  title: string;
  lld: string;
  /** The tests as they were written. */
  diff: string;
  /** Those that pass before the code, with the titles of their tests. */
  scenarios: readonly (Pick<LldScenario, 'id' | 'scenario' | 'pass'> & { tests: readonly string[] })[];
}

/** Asks whether scenarios hold already, or their tests prove nothing. */
export function guardsParts(prompts: Prompts, { id, title, lld, diff, scenarios }: GuardsTask): TaskPart[] {
  const list = scenarios.map(({ tests, ...scenario }) => `${scenarioLine(scenario)}. Passing: ${tests.join(', ')}`);
  return [
    { text: tagged('lld', lld), repeats: true },
    { text: tagged('tests', boundedDiff(diff, MOST_DIFF_CHARS)) },
    { text: prompts.fill('guards', { id, title, scenarios: listIn('scenarios', list) ?? '' }) },
  ];
}

export interface AlreadyDoneTask extends Pick<GuardsTask, 'id' | 'title' | 'lld' | 'diff'> {
  /** What is shown of the repository. */
  repository: string;
  /** Titles of the tests, all of which pass. */
  passing: readonly string[];
}

/** Asks whether all that a design requires is there before its code, or its tests prove nothing. */
export function alreadyDoneParts(prompts: Prompts, material: AlreadyDoneTask): TaskPart[] {
  const { id, title, lld, repository, diff, passing } = material;
  return [
    { text: tagged('lld', lld), repeats: true },
    { text: tagged('repository', repository), repeats: true },
    { text: tagged('tests', boundedDiff(diff, MOST_DIFF_CHARS)) },
    { text: prompts.fill('already-done', { id, title, tests: listIn('passing-tests', passing) ?? '' }) },
  ];
}

function evidenceText(evidence: readonly GateEvidence[]): string {
  if (evidence.length === 0) return 'No gate was checked.';
  const details = evidence
    .filter((gate) => gate.details.length + gate.problems.length > 0)
    .map((gate) => `Gate ${gate.gate}:\n${bulletsOf([...gate.problems, ...gate.details])}`);
  return [gateTable(evidence), ...details].join('\n\n');
}

/** Less than this of a file is not worth showing. */
const LEAST_PART = 2_000;

/**
 * The change as a reviewer is shown it. Files that don't fit into `most` characters are left out, later ones that do fit
 * are not; the first that doesn't is shown as far as there is room. What is missing is named.
 */
export function boundedDiff(diff: string, most: number): string {
  if (diff.trim() === '') return 'Nothing was changed.';
  if (diff.length <= most) return diff;
  let room = most;
  let cut: string | null = null;
  const shown: string[] = [];
  const leftOut: string[] = [];
  // In a diff only a header begins with these words at the very beginning of a line.
  const files = diff.split(/^(?=diff --git )/m).map((text) => ({
    path: /^diff --git "?a\/(.*?)"? "?b\//.exec(text)?.[1] ?? 'the beginning',
    text,
  }));
  const whole = new Set(
    files.filter(({ text }) => {
      const fits = text.length <= room;
      if (fits) room -= text.length;
      return fits;
    }),
  );
  for (const file of files) {
    if (whole.has(file)) {
      shown.push(file.text);
    } else if (cut === null && room >= LEAST_PART) {
      cut = file.path;
      shown.push(
        `${file.text.slice(0, file.text.lastIndexOf('\n', room) + 1)}[the rest of ${file.path} is left out]\n`,
      );
    } else {
      leftOut.push(file.path);
    }
  }
  const notes = [
    ...(cut === null ? [] : [`Shown in part: ${cut}`]),
    ...(leftOut.length === 0 ? [] : [`Left out: ${leftOut.join(', ')}`]),
  ];
  return `${shown.join('')}\n[The change has ${diff.length} characters, at most ${most} are shown. ${notes.join('. ')}.]`;
}
