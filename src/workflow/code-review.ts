import { basename, dirname, extname, join } from 'node:path';
import type { GateEvidence } from '../core/gate.ts';
import { formatLedger, type Ledger, openFindings } from '../documents/ledger.ts';
import { unusableReview } from '../documents/review/reader.ts';
import type { Git } from '../git/git.ts';
import { openCommit, readAt } from '../git/repository.ts';
import { makeOwnFolder, writeFileAtomic } from '../process/files.ts';
import { boundedDiff } from '../prompts/bounded-diff.ts';
import { isSecret } from '../prompts/context/secrets.ts';
import { tagged } from '../prompts/tags.ts';
import { bulletsOf, gateTable } from '../verification/report.ts';
import type { Decider } from './decide.ts';
import { filesNamed, protectedChange, type Undone } from './forbidden.ts';
import type { GateLog } from './gates.ts';
import {
  askedAgain,
  type ReviewAgain,
  type ReviewInput,
  type ReviewOutcome,
  reviewLoop,
  reviewStep,
} from './review.ts';
import type { DesignedContext, WorktreeContext } from './worktree-item.ts';

interface CodeReview {
  gates: Pick<GateLog, 'evidence' | 'undone'>;
  decider: Decider;
  /** Other designs that touch this one; may be empty. */
  forecast?: string;
  /**
   * Has the writer make the change that the review asks for, and checks the gates again; returns the new tree. `mayChange`:
   * the existing files that the findings name.
   */
  revise: (asked: {
    start: string;
    name: string;
    review: string;
    failures: string[];
    mayChange: string[];
  }) => Promise<string>;
}

export type ReviewedCode = ReviewOutcome & { tree: string };

/** The folder of an item's reviews. */
export function reviewsOf({ paths, workflow, id }: WorktreeContext): string {
  return join(paths.home(workflow, id), 'reviews');
}

/** Programs of the item can write to its home: a link in the place of the folder is replaced, not followed. */
export async function keepReview(context: WorktreeContext, round: number, text: string): Promise<void> {
  const folder = reviewsOf(context);
  const own = await makeOwnFolder(dirname(folder), basename(folder));
  await writeFileAtomic(join(own, `review-${round}.md`), context.mask(text));
}

/** Takes a change through the review loop. The text under review is its diff. */
export async function reviewCode(
  context: DesignedContext,
  codeTree: string,
  { gates, decider, forecast = '', revise }: CodeReview,
): Promise<ReviewedCode> {
  const { worktree, baseTree, emit, maxRounds } = context;
  let tree = codeTree;
  /** The tree of the last review. */
  let reviewed: string | null = null;
  const outcome = await reviewLoop(
    await worktree.diff(baseTree, tree),
    {
      async review(input, again) {
        const { round } = input;
        const parts = reviewParts(context, input, {
          evidence: gates.evidence(),
          code: await changedCode(context, tree),
          changes: reviewed === null ? null : await worktree.diff(reviewed, tree),
          undone: gates.undone().filter(({ step }) => step.startsWith(`revise-${round - 1}-`)),
          again,
        });
        return askReviewer(context, reviewStep(round, again), tree, parts, forecast === '' ? [] : [forecast]);
      },
      onReview: (text, round) => keepReview(context, round, text),
      needsPerson: () => protectedChange(context, tree),
      async revise(_, review, ledger, round) {
        const failures = findingFailures(ledger);
        const mayChange = await filesToRevise(context, tree, ledger);
        reviewed = tree;
        tree = await revise({ start: tree, name: `revise-${round}`, review, failures, mayChange });
        return { ok: true, text: await worktree.diff(baseTree, tree), ledger };
      },
    },
    { emit, maxRounds, decider },
  );
  return { ...outcome, tree };
}

/** Asks the reviewer about a tree. The LLD and `shown` repeat over the rounds and come first, for prompt caches. */
export function askReviewer(
  { lld, prompts, base, ask }: Pick<WorktreeContext, 'prompts' | 'base' | 'ask'> & { lld: { text: string } },
  step: string,
  tree: string,
  parts: readonly string[],
  shown: readonly string[] = [],
): Promise<string> {
  return ask({
    step,
    role: 'reviewer',
    system: prompts.fill('code-reviewer'),
    repeating: [tagged('lld', lld.text), ...shown],
    parts,
    at: { commit: base, tree },
    unusable: unusableReview,
  });
}

export const MOST_DIFF_CHARS = 200_000;
const MOST_CHANGES_CHARS = 50_000;

interface ReviewMaterial {
  evidence: readonly GateEvidence[];
  /** The changed files whole, and who uses them; may be empty. */
  code: string;
  /** The diff since the last round; null in the first. */
  changes: string | null;
  /** What was undone in the revision before this round. */
  undone: readonly Undone[];
  again: ReviewAgain | undefined;
}

export function reviewParts(
  { id, title, prompts }: Pick<DesignedContext, 'id' | 'title' | 'prompts'>,
  { text: diff, ledger, round, maxRounds }: Pick<ReviewInput, 'text' | 'ledger' | 'round' | 'maxRounds'>,
  { evidence, code, changes, undone, again }: ReviewMaterial,
): string[] {
  const since = changes === '' ? 'None: the change is the same as in the last round.' : changes;
  const list = undone.map(({ paths, why }) => `- ${paths.join(', ')}: ${why}`).join('\n');
  return [
    tagged('change', boundedDiff(diff, MOST_DIFF_CHARS)),
    code === '' ? '' : tagged('changed-files', code),
    tagged('gates', evidenceText(evidence)),
    round > 1 ? tagged('findings-ledger', formatLedger(ledger)) : '',
    since === null ? '' : tagged('changes-since-last-round', boundedDiff(since, MOST_CHANGES_CHARS)),
    list === '' ? '' : tagged('undone-in-the-revision', `${list}\n\n${NAME_IT}`),
    prompts.fill('code-review', { id, title, round, 'max-rounds': maxRounds }),
    ...askedAgain(prompts, again),
  ].filter((part) => part !== '');
}

const NAME_IT =
  'The revision may change only files that a finding names. If one of these has to change, name its path in a finding.';

function evidenceText(evidence: readonly GateEvidence[]): string {
  if (evidence.length === 0) return 'No gate was checked.';
  const details = evidence
    .filter((gate) => gate.details.length + gate.problems.length > 0)
    .map((gate) => `Gate ${gate.gate}:\n${bulletsOf([...gate.problems, ...gate.details])}`);
  return [gateTable(evidence), ...details].join('\n\n');
}

/** The open findings of a review, as failures for the writer. */
export function findingFailures(ledger: Ledger): string[] {
  const found = openFindings(ledger).map(
    ({ id, tier, area, text }) => `${id} (Tier ${tier}${area === '' ? '' : `, ${area}`}): ${text}`,
  );
  return found.length > 0 ? found : ['The reviewer asks for a change without listing a finding: see the review.'];
}

async function filesToRevise(
  { git, worktree, baseTree, suite }: DesignedContext,
  tree: string,
  ledger: Ledger,
): Promise<string[]> {
  // Tests are frozen, whatever a finding says.
  const isCode = (path: string): boolean => !suite.isTestFile(path);
  const paths = (await openCommit(git, tree)).paths.filter(isCode);
  const changed = (await worktree.changes(baseTree, tree)).map(({ path }) => path).filter(isCode);
  const findings = openFindings(ledger).map(({ text }) => text);
  const suggestions = ledger.findings.filter(({ tier, state }) => tier === 3 && state === 'open');
  return filesNamed({ findings, suggestions: suggestions.map(({ text }) => text) }, { paths, changed });
}

const MOST_CHARS = 80_000;
const MOST_CALLERS = 20;
const LONGEST_LINE = 200;
const SEARCH_MS = 30_000;
/** Words before the name of a module that is imported. */
const USING = '(import|require|from|use|using|include|load|mod|export)';
/** Names of files in many folders: an import of such a name may be of any of them. */
const COMMON_NAMES = new Set(['index', 'main', 'mod', 'lib', '__init__', 'types', 'utils']);

/**
 * What a diff leaves out, for a reviewer: the modified files, whole, and the lines elsewhere that import them. New files are
 * whole in the diff. Files that don't fit are named.
 */
export async function changedCode(
  { git, worktree, baseTree }: Pick<DesignedContext, 'git' | 'worktree' | 'baseTree'>,
  tree: string,
): Promise<string> {
  const changes = await worktree.changes(baseTree, tree);
  const modified = changes.filter(({ kind, isLink }) => kind === 'modified' && isLink !== true);
  const known = modified.map(({ path }) => path).filter((path) => !isSecret(path));
  const texts = await readAt(
    git,
    known.map((path) => ({ ref: tree, path })),
  );
  const sections: string[] = [];
  const leftOut: string[] = [];
  let room = MOST_CHARS;
  for (const [index, path] of known.entries()) {
    const text = texts[index] ?? null;
    if (text === null || text.includes('\0') || text.includes('PRIVATE KEY-----')) continue;
    if (text.length > room) leftOut.push(path);
    else sections.push(`## ${path}\n\n${numbered(text)}`);
    room -= Math.min(text.length, room);
  }
  if (leftOut.length > 0) sections.push(`## Too long to be shown whole\n\n${leftOut.join('\n')}`);
  for (const path of known) {
    const callers = await usersOf(git, tree, path, new Set(changes.map((change) => change.path)));
    if (callers.length > 0) sections.push(`## Uses of ${path}\n\n${callers.join('\n')}`);
  }
  return sections.join('\n\n');
}

function numbered(text: string): string {
  const lines = text.replace(/\n$/, '').split(/\r?\n/);
  return lines.map((line, index) => `${String(index + 1).padStart(6)}\t${line}`).join('\n');
}

async function usersOf(git: Git, tree: string, path: string, changed: ReadonlySet<string>): Promise<string[]> {
  const name = basename(path, extname(path));
  if (!/^[\w-]{3,}$/.test(name) || COMMON_NAMES.has(name)) return [];
  const pattern = `(^|[^[:alnum:]_])${USING}([^[:alnum:]_].*)?[^[:alnum:]_-]${name}([^[:alnum:]_-]|$)`;
  const settings = ['-c', 'core.fsmonitor=false', '-c', 'grep.column=false', '-c', 'submodule.recurse=false'];
  const output = await git
    .text([...settings, 'grep', '-n', '-I', '-z', '--no-color', '-E', '-e', pattern, tree], { timeoutMs: SEARCH_MS })
    // Exit code 1: nothing uses it. A search that fails must not stop the review.
    .catch(() => '');
  const found = output.split('\n').flatMap((line) => {
    const [place = '', number = '', text = ''] = line.slice(tree.length + 1).split('\0');
    const isOther = number !== '' && !changed.has(place) && !isSecret(place);
    return isOther ? [`${place}:${number}: ${text.trim().slice(0, LONGEST_LINE)}`] : [];
  });
  return found.slice(0, MOST_CALLERS);
}
