import type { LastRun } from './errors.ts';
import { listed, predicate, shorten } from './lines.ts';
import type { WorkflowName } from './paths.ts';

export type Words = [message: string, hint: string | null];

type Refusal = 'changed' | 'checks' | 'questions' | 'recorded' | 'kept';

/** What can go wrong between an approved design and its branch: see `core/wording.ts`. */
export const IMPLEMENTATION_PROBLEMS = {
  'lld-missing': (p: { id: string; path: string; near: string[] }) => {
    const near = p.near.length > 0 ? `Did you mean ${p.near.join(' or ')}? ` : '';
    return [`There is no LLD for ${p.id}: ${p.path} does not exist.`, `${near}agentos lld ${p.id} makes one.`];
  },
  'lld-unreadable': (p: { path: string; reason: string }) => [
    `${p.path} ${predicate(p.reason)}.`,
    'Fix it or move it away: until then, no new LLD is drafted.',
  ],
  'lld-changed': (p: { id: string; path: string }) => [
    `${p.path} was changed after this run started: it is not the approved design any more.`,
    `Check it, then run the same command again, or have it reviewed: agentos lld ${p.id}`,
  ],
  'lld-not-approved': (p: { id: string; path: string; why: 'edited' | 'status' | 'issue-changed' }) => {
    const why = {
      edited: 'its body was edited after its approval',
      status: 'its front matter does not say that it is approved',
      'issue-changed': 'the issue changed after the approval',
    }[p.why];
    return [
      `${p.path} is not an approved LLD: ${why}.`,
      p.why === 'issue-changed'
        ? `agentos lld ${p.id} --dry-run shows what changed; agentos lld ${p.id} designs it again, agentos decide ${p.id} --approve --reason "…" keeps it.`
        : `Have it reviewed: agentos lld ${p.id}`,
    ];
  },
  'lld-outdated': (p: { id: string; findings: string[] }) => [
    `The LLD of ${p.id} no longer fits the repository: ${p.findings.join('; ')}`,
    `Change the LLD, then have it reviewed again: agentos lld ${p.id}`,
  ],
  'git-identity-missing': (p: { detail: string }) => [
    `git has no identity to commit with: ${p.detail}`,
    'Set it with git config user.name and git config user.email.',
  ],
  'worktree-unusable': (p: { path: string; reason: string }) => [
    `The worktree ${p.path} can't be used: ${p.reason}`,
    'agentos clean removes what is safe to remove; git worktree list shows what there is.',
  ],
  'dependency-conflict': (p: { on: string; files: string[] }) => [
    `It builds on ${p.on}, whose branch conflicts in ${p.files.join(', ')}.`,
    'Merge the branch it depends on first.',
  ],
  'setup-failed': (p: { command: string; exitCode: number | null; detail: string }) => [
    `The set-up failed: ${p.command} ended with ${p.exitCode ?? 'a signal'}: ${p.detail}`,
    'Run it by hand in the worktree. Set another command with implement.setup in agentos.yaml; false: none.',
  ],
  'tests-undetected': (p: { directory: string; script: string | null; runner: string | null }) => {
    const unsupported = p.runner === null ? '' : `: ${p.runner} is used there, which is not supported`;
    const why = p.script === null ? unsupported : `: "${shorten(p.script)}" starts no known test runner`;
    return [
      `Can't tell how to run the tests in ${p.directory}${why}.`,
      'Name the runner in agentos.yaml: tests: { command: npx mocha }. Or name its report: { command: make check, runner: tap }, or { …, runner: junit, report: junit.xml }.',
    ];
  },
  'tests-cannot-run': (p: { command: string; detail: string }) => [
    `The tests can't be run: ${p.command}: ${p.detail}`,
    'Run the command by hand in the worktree. To change it, set tests and implement.setup in agentos.yaml.',
  ],
  'agent-missing': (p: { agent: string; program: string; install: string }) => [
    `${p.agent} needs the program ${p.program}, which is not on the PATH.`,
    `Install it with ${p.install}, or choose another model.`,
  ],
  'agent-failed': (p: { agent: string; exitCode: number | null; signal: string | null; detail: string }) => [
    `${p.agent} ended with ${p.exitCode === null ? (p.signal ?? 'a signal') : `exit code ${p.exitCode}`}: ${p.detail || 'it said nothing'}`,
    'Its output is in the log. What it changed is kept in the worktree.',
  ],
  'agent-unmetered': (p: { agent: string }) => [
    `${p.agent} did not use the gateway, so its answer is rejected.`,
    'Its own settings, login or proxy may lead it to another address: see its output in the log.',
  ],
  'agent-rounds': (p: { agent: string; rounds: number }) => [
    `${p.agent} was not done after ${p.rounds} rounds.`,
    'Raise implement.maxAgentRounds in agentos.yaml.',
  ],
  'changed-outside': (p: { files: string[]; worktree: string | null }) => [
    `Something outside the worktree was changed while an agent, a command or the tests ran: ${listed(p.files)}.`,
    `Nothing there was undone${p.worktree === null ? '' : `; its own work is in ${p.worktree}`}. Run the same command again to resume it.`,
  ],
  'gate-failed': (p: { gate: string; problems: string[]; worktree: string; branch: string }) => [
    `${p.gate}: ${p.problems.join('; ')}`,
    `See ${p.worktree} (branch ${p.branch}).`,
  ],
  'branch-missing': (p: { id: string }) => [
    `${p.id} has no finished branch.`,
    `agentos implement ${p.id} makes one; agentos status shows how far each item is.`,
  ],
  'pull-request-missing': (p: { id: string }) => [
    `No open pull request is known for ${p.id}.`,
    `agentos implement ${p.id} --pr opens one.`,
  ],
  'pull-request-moved': (p: { number: number; branch: string }) => [
    `Pull request #${p.number} has changed: ${p.branch} has new commits.`,
    'Run the same command again.',
  ],
  /** others: the branches that were merged before it. */
  'branch-breaks': (p: { id: string; others: string[]; problems: string[] }) => [
    `The tests fail with it${p.others.length === 0 ? '' : `, on top of ${listed(p.others)}`}: ${p.problems.join('; ')}`,
    `Change the branch, or build it again on the current base: agentos implement --again ${p.id}`,
  ],
  'landing-incomplete': (p: { out: string[]; branch: string | null }) => [
    `${listed(p.out)} ${p.out.length === 1 ? 'is' : 'are'} out. ${p.branch === null ? 'No branch was made' : `The others are on ${p.branch}`}.`,
    null,
  ],
  'offline-no-code': (p: { id: string; why: 'not-recorded' | 'changed'; file: string | null }) => {
    const why = {
      'not-recorded': `Nothing is recorded for ${p.id}: offline plays the tour of agentos demo and can't implement anything else.`,
      changed: `The recorded change of ${p.id} doesn't fit ${p.file ?? 'the files'} as it is now.`,
    }[p.why];
    return [
      why,
      'Choose models with --implementer and --reviewer, e.g. claude-code and google:gemini-3.1-pro-preview.',
    ];
  },
  'offline-no-reply': (p: { step: string }) => [
    `Nothing is recorded for ${p.step}: offline plays the tour of agentos demo, and no model was asked.`,
    'Choose models with --drafter, --reviewer and --implementer, e.g. anthropic:claude-opus-5.',
  ],
  'log-missing': (p: { id: string; of?: 'agent' }) => [
    `There is no ${p.of === 'agent' ? 'transcript of an agent for' : 'log of'} ${shorten(p.id)}.`,
    'agentos status lists what was run.',
  ],
  'not-waiting': (p: { id: string; last: LastRun | null }) => {
    const { id, last } = p;
    if (last?.status === 'discuss' && last.reason !== null)
      return [`There is nothing to decide about ${id}: ${last.reason}.`, 'See: agentos status'];
    return [
      `${id} is not waiting for a decision: ${last === null ? 'it was never run' : `its last run (${last.workflow} ${last.runId}) ended as ${last.status}${last.step === null ? '' : `, at ${last.step}`}`}.`,
      'Only an item that ended in DISCUSS waits for one: see agentos status.',
    ];
  },
  'decision-refused': (p: { id: string; workflow: WorkflowName; why: Refusal; detail: string }) => {
    const { id, workflow, detail } = p;
    const words: Record<Refusal, Words> = {
      changed: [
        `The text behind ${workflow} ${id} changed after the question was asked.`,
        `The decision would not count for the new text. Run it first: agentos ${workflow} ${id}`,
      ],
      checks: [
        `${workflow} ${id} can't be approved: ${detail}`,
        `Say what to change: agentos decide ${id} --revise "…", or give it up with --drop.`,
      ],
      questions: [
        `An approval of ${workflow} ${id} has to answer its open questions: ${detail}`,
        `Give the answer: agentos decide ${id} --approve --reason "…"`,
      ],
      kept: [
        `Issue ${id} changed since its LLD was approved: to keep the LLD, say why it still fits.`,
        `Write: agentos decide ${id} --approve --reason "…"`,
      ],
      recorded: [
        `${workflow} ${id} is part of the recorded tour, which can't make a change.`,
        `Decide with --approve --reason "…" or --drop, or have a model work on it: agentos ${workflow} ${id}`,
      ],
    };
    return words[p.why];
  },
} satisfies Record<string, (facts: never) => Words>;
