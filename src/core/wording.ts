import { formatDuration, localTime } from './duration.ts';
import type { Problem } from './errors.ts';
import { firstLine, oneLine } from './lines.ts';

export interface Wording {
  message: string;
  /** What to do next. */
  hint: string | null;
}

/**
 * Facts into words: the one place that says what went wrong and what to do. Each is one line, whatever the
 * facts hold: a path, a flag's value or a vendor's message may have line breaks and escape codes in it.
 */
export function wordingOf(problem: Problem): Wording {
  const { message, hint } = wordsOf(problem);
  return { message: ended(oneLine(message)), hint: hint === null ? null : oneLine(hint) };
}

function wordsOf(problem: Problem): Wording {
  const say = (message: string, hint: string | null = null): Wording => ({ message, hint });
  switch (problem.code) {
    case 'usage':
      return say(problem.reason, problem.hint ?? null);
    case 'bad-id':
      return say(
        `"${shorten(problem.id)}" is ${problem.id.endsWith('.md') ? 'neither an id nor the file of an issue here' : 'not a valid id'}.`,
        'Ids are 1 to 64 letters, digits, hyphens and underscores: the name of the file in issues/ or briefs/ without .md.',
      );
    case 'config-unreadable':
      return say(
        `${problem.file} can't be read: ${inWords(problem.reason)}.`,
        'Check the path and its permissions. Without a configuration the defaults apply; agentos init writes one.',
      );
    case 'config-invalid': {
      const place = problem.line === null ? problem.file : `${problem.file}:${problem.line}`;
      return say(
        `${place}: ${problem.path ? `${problem.path} ` : ''}${problem.reason}`,
        'agentos init --print shows every setting with its meaning.',
      );
    }
    case 'model-spec-invalid':
      return say(
        `"${shorten(problem.spec)}" is not a model: ${problem.reason}`,
        'Write provider:model, e.g. anthropic:claude-opus-5.',
      );
    case 'key-missing': {
      const variables = problem.variables.join(' or ');
      const where = variables
        ? `Set ${variables}`
        : `Name the variable that holds it in agentos.yaml under keys.${problem.provider}`;
      return say(
        `The ${problem.role} needs a key for ${problem.provider}, and there is none.`,
        `${where}, or choose another model with --${problem.role}.`,
      );
    }
    case 'prompt-invalid':
      return say(`${problem.file} ${predicate(problem.reason)}.`, 'Fix it, or delete it to use the built-in prompt.');
    case 'git-missing':
      return say('git was not found.', 'Install git and make sure that it is on the PATH.');
    case 'repository-missing':
      return say(
        `${problem.directory} is not inside a git repository.`,
        'Go to your repository, name it with --repo <dir>, or start one with: git init',
      );
    case 'repository-empty':
      return say(
        `The repository ${problem.directory} has no commit yet.`,
        'Designs are made for a commit. Run: git add -A && git commit -m "First commit"',
      );
    case 'state-unwritable':
      return say(
        `The state folder ${problem.directory} can't be written: ${inWords(problem.reason)}.`,
        'Choose another one with --base-dir <dir> or AGENTOS_HOME.',
      );
    case 'run-unreadable':
      return say(
        `The record of the run ${shorten(problem.run)} can't be read: ${problem.file} is missing or damaged.`,
        'agentos resume without a name takes the last run that can be read; agentos status lists them.',
      );
    case 'source-missing':
      return say(
        `There is no folder ${problem.directory}.`,
        'Write an issue as issues/<id>.md: a title as first heading, then what is wanted.',
      );
    case 'issue-missing':
      return say(
        `There is no issue ${problem.id}: ${problem.path} does not exist.`,
        problem.near.length > 0
          ? `Did you mean ${problem.near.join(' or ')}?`
          : 'Write it there, or take every issue that has no approved LLD: agentos lld --all',
      );
    case 'issue-unreadable':
      return say(
        `Issue ${problem.id} can't be read: ${problem.path} ${predicate(problem.reason)}.`,
        'Issues are UTF-8 Markdown files.',
      );
    case 'briefs-missing':
      return say(
        `There is no folder ${problem.directory}.`,
        'Write an idea as briefs/<name>.md, in a few sentences; the name may have letters, digits, - and _.',
      );
    case 'brief-missing':
      return say(
        `There is no brief ${problem.id}: ${problem.path} does not exist.`,
        problem.near.length > 0
          ? `Did you mean ${problem.near.join(' or ')}?`
          : 'Write it there, or take every brief that has no issue: agentos issue --all',
      );
    case 'brief-unreadable':
      return say(
        `Brief ${problem.id} can't be read: ${problem.path} ${predicate(problem.reason)}.`,
        'Briefs are UTF-8 text files.',
      );
    case 'provider-rejected-key':
      return say(
        `${problem.provider} does not accept the key${status(problem.status)}: ${problem.detail}`,
        'Check the key and its permissions, then run the same command again.',
      );
    case 'provider-quota':
      return say(
        `${problem.provider} has no quota left${status(problem.status)}: ${problem.detail}`,
        problem.retryAfterMs === null
          ? 'Run the same command again when there is quota: finished steps are not repeated.'
          : `Retry in ${formatDuration(problem.retryAfterMs)}. Finished steps are not repeated.`,
      );
    case 'provider-overloaded':
      return say(
        `${problem.provider} is overloaded or broken${status(problem.status)}: ${problem.detail}`,
        'Run the same command again later: finished steps are not repeated.',
      );
    case 'provider-unreachable':
      return say(
        `${problem.provider} can't be reached: ${problem.detail}`,
        'Check the network and the base URL, then run the same command again.',
      );
    case 'provider-refused-request':
      return say(
        `${problem.provider} refused the request${status(problem.status)}: ${problem.detail}`,
        'Check the name of the model.',
      );
    case 'provider-bad-reply':
      return say(
        `${problem.provider} did not answer with what was asked for: ${problem.detail}`,
        'Run the same command again, or choose another model.',
      );
    case 'reply-empty':
      return say(`${problem.provider} sent an empty reply.`, 'Run the same command again, or choose another model.');
    case 'reply-truncated':
      return say(
        `${problem.provider} stopped in the middle: its answer reached the limit of output tokens${problem.outputTokens === null ? '' : ` (${problem.outputTokens})`}.`,
        'Choose a model with a larger output limit, or split the issue.',
      );
    case 'reply-filtered':
      return say(
        `${problem.provider} withheld its answer: ${problem.reason}.`,
        'Change the wording of the issue, or choose another model.',
      );
    case 'reply-too-large':
      return say(
        `${problem.provider} answered with more than ${Math.round(problem.limitBytes / 1_048_576)} MB.`,
        'A design is a few pages: check what the command prints.',
      );
    case 'model-downgraded':
      return say(
        `${problem.asked} was asked for the review, but ${problem.answered} answered.`,
        'A review by another model is refused. Ask for that model by name with --reviewer, or try later.',
      );
    case 'command-failed': {
      const end =
        problem.exitCode === null
          ? `was killed by ${problem.signal ?? 'a signal'}`
          : `ended with exit code ${problem.exitCode}`;
      return say(
        `The command "${shorten(problem.command)}" ${end}${problem.detail ? `: ${problem.detail}` : '.'}`,
        'Run it by hand: it gets the prompt on stdin and prints the reply.',
      );
    }
    case 'call-idle':
      return say(
        `${problem.what} gave no sign of life for ${formatDuration(problem.afterMs)}.`,
        'Run the same command again, or allow more with --idle-timeout.',
      );
    case 'call-ceiling':
      return say(
        `${problem.what} was still answering after ${formatDuration(problem.afterMs)}, its upper bound.`,
        'Raise bounds.callTimeout in agentos.yaml.',
      );
    case 'item-timeout':
      return say(
        `Timed out after ${formatDuration(problem.afterMs)}.`,
        'Run the same command with a higher --timeout: it resumes where it stopped.',
      );
    case 'run-timeout':
      return say(
        `The run timed out after ${formatDuration(problem.afterMs)}.`,
        'Run the same command with a higher --global-timeout: it resumes where it stopped.',
      );
    case 'item-stalled':
      return say(
        `Its worker gave no sign of life for ${formatDuration(problem.afterMs)} and was killed.`,
        'Run the same command again, or allow more with --idle-timeout.',
      );
    case 'worker-crashed': {
      const end = problem.signal
        ? `by ${problem.signal}`
        : problem.exitCode === null
          ? ''
          : `with exit code ${problem.exitCode}`;
      return say(
        `Its worker process died${end ? ` ${end}` : ''}${problem.detail ? `: ${firstLine(problem.detail)}` : '.'}`,
        'Run the same command again: finished steps are not repeated.',
      );
    }
    case 'task-missing':
      return say(
        `${problem.module} has no function ${problem.export}.`,
        'Check the module URL and the name of the export.',
      );
    case 'task-failed':
      return say(
        `Its task failed: ${firstLine(problem.reason)}`,
        'Fix it, then run the same command again: finished steps are not repeated.',
      );
    case 'halted':
      return say(
        `Not started: the batch was halted after ${problem.failures} failure(s), the last one ${problem.cause}.`,
        'Fix the cause, or allow more failures with --halt <n>.',
      );
    case 'over-budget':
      return say(
        `The ${problem.scope === 'item' ? 'item' : 'run'}'s budget of $${problem.limitUsd} does not cover the next call ($${problem.spentUsd.toFixed(4)} spent).`,
        `Run the same command with a higher ${problem.scope === 'item' ? '--max-cost-per-item' : '--max-cost'}: it resumes where it stopped.`,
      );
    case 'interrupted':
      return say(`Interrupted by ${problem.signal}.`, 'Run the same command again: it resumes where it stopped.');
    case 'journal-fenced':
      return say(
        `Another run took over ${problem.file}.`,
        'This one stopped without changing anything. See: agentos status',
      );
    case 'journal-damaged':
      return say(
        `The checkpoint ${problem.file} is damaged (${problem.reason}) and was kept as ${problem.keptAs}.`,
        'Run the same command again: it starts this item over.',
      );
    case 'journal-newer':
      return say(
        `The checkpoint ${problem.file} was written by a newer agentos (format ${problem.found}, this one knows ${problem.supported}).`,
        'Use that version, or move the file away to start over.',
      );
    case 'journal-full':
      return say(
        `The disk is full: ${problem.file} can't be written (${problem.reason}).`,
        'Make room, then run the same command again: finished steps are not repeated.',
      );
    case 'journal-unusable':
      return say(
        `The checkpoint ${problem.file} can't be used: ${problem.reason}.`,
        'Check the folder, or choose another one with --base-dir.',
      );
    case 'item-locked':
      return say(
        `${problem.workflow} ${problem.id} is being worked on by another run (process ${problem.pid}, since ${localTime(problem.since)}).`,
        'Wait for it to end. See: agentos status',
      );
    case 'git-failed':
      return say(
        `${shorten(problem.command)} failed: ${problem.detail}`,
        'See what git itself says in that folder, then run the same command again.',
      );
    case 'output-unwritable':
      return say(
        `${problem.path} could not be written: ${inWords(problem.reason)}.`,
        'Check the folder and the free space, then run the same command again: finished steps are not repeated.',
      );
    case 'disk-unwritable':
      return say(
        `${problem.directory} can't be written: ${inWords(problem.reason)}.`,
        'Make it writable, or make room, then run: agentos resume. What was stored is not repeated.',
      );
    case 'demo-folder-taken':
      return say(
        problem.changed.length === 0
          ? `${problem.directory} exists and was not made by the demo.`
          : `${problem.directory} holds work that the demo did not leave there: ${listed(problem.changed)}.`,
        'Name another folder: agentos demo --dir <folder>',
      );
    case 'run-missing':
      return say(
        `There is no run ${shorten(problem.run)}.`,
        'agentos status lists the runs; agentos lld --all starts one.',
      );
    case 'lld-missing': {
      const near = problem.near.length > 0 ? `Did you mean ${problem.near.join(' or ')}? ` : '';
      return say(
        `There is no LLD for ${problem.id}: ${problem.path} does not exist.`,
        `${near}agentos lld ${problem.id} makes one.`,
      );
    }
    case 'lld-unreadable':
      return say(
        `${problem.path} ${predicate(problem.reason)}.`,
        'Fix it or move it away; nothing is drafted in its place until then.',
      );
    case 'lld-not-approved': {
      const why = {
        edited: 'its body was edited after its approval',
        status: 'its front matter does not say that it is approved',
        'issue-changed': 'the issue changed after the approval',
      }[problem.why];
      return say(
        `${problem.path} is not an approved LLD: ${why}.`,
        problem.why === 'issue-changed'
          ? `agentos lld ${problem.id} --dry-run shows what changed; agentos lld ${problem.id} designs it again, agentos decide ${problem.id} --approve --reason "…" keeps it.`
          : `agentos lld ${problem.id} has it reviewed as it stands.`,
      );
    }
    case 'lld-outdated':
      return say(
        `The LLD of ${problem.id} no longer fits the repository: ${problem.findings.join('; ')}`,
        `Change the LLD and run agentos lld ${problem.id}, which has it reviewed again.`,
      );
    case 'git-identity-missing':
      return say(
        `git has no identity to commit with: ${problem.detail}`,
        'Set it with git config user.name and git config user.email.',
      );
    case 'worktree-unusable':
      return say(
        `The worktree ${problem.path} can't be used: ${problem.reason}`,
        'agentos clean removes what is safe to remove; git worktree list shows what there is.',
      );
    case 'dependency-conflict':
      return say(
        `It builds on ${problem.on}, whose branch conflicts in ${problem.files.join(', ')}.`,
        'Merge the branch it depends on first.',
      );
    case 'setup-failed':
      return say(
        `The set-up failed: ${problem.command} ended with ${problem.exitCode ?? 'a signal'}: ${problem.detail}`,
        'Try it by hand in the worktree; implement.setup in agentos.yaml names another command, or false for none.',
      );
    case 'tests-undetected':
      return say(
        `Can't tell how to run the tests in ${problem.directory}${undetected(problem)}.`,
        'Say it in agentos.yaml, with a command that prints TAP or writes JUnit XML: tests: { command: npx mocha --reporter tap, runner: tap }, or runner: junit with report: junit.xml.',
      );
    case 'tests-cannot-run':
      return say(
        `The tests can't be run: ${problem.command}: ${problem.detail}`,
        'Try the command by hand in the worktree; tests and implement.setup in agentos.yaml say what to run.',
      );
    case 'agent-missing':
      return say(
        `${problem.agent} needs the program ${problem.program}, which is not on the PATH.`,
        `Install it with ${problem.install}, or choose another --implementer.`,
      );
    case 'agent-failed':
      return say(
        `${problem.agent} ended with ${problem.exitCode === null ? (problem.signal ?? 'a signal') : `exit code ${problem.exitCode}`}: ${problem.detail || 'it said nothing'}`,
        'Its output is in the log. What it changed is kept in the worktree.',
      );
    case 'agent-rounds':
      return say(
        `${problem.agent} was not done after ${problem.rounds} rounds.`,
        'implement.maxAgentRounds in agentos.yaml sets the bound.',
      );
    case 'changed-outside':
      return say(
        `Something outside the worktree was changed while the implementer or the tests ran: ${listed(problem.files)}.`,
        `Nothing there was undone; its own work is in ${problem.worktree}. Run the same command again to resume it.`,
      );
    case 'gate-failed':
      return say(
        `${problem.gate}: ${problem.problems.join('; ')}`,
        `Look at it in ${problem.worktree} (branch ${problem.branch}).`,
      );
    case 'offline-no-code': {
      const why = {
        'not-recorded': `Nothing is recorded for ${problem.id}: offline plays the tour of agentos demo and can't implement anything else.`,
        changed: `The recorded change of ${problem.id} doesn't fit ${problem.file ?? 'the files'} as it is now.`,
      }[problem.why];
      return say(
        why,
        'Choose models with --implementer and --reviewer, e.g. claude-code and google:gemini-3-pro-preview.',
      );
    }
    case 'offline-no-reply':
      return say(
        `Nothing is recorded for ${problem.step}: offline plays the tour of agentos demo, and no model was asked.`,
        'Choose models with --drafter, --reviewer and --implementer, e.g. anthropic:claude-opus-5.',
      );
    case 'log-missing':
      return say(`There is no log of ${shorten(problem.id)}.`, 'agentos status lists what was run.');
    case 'not-waiting': {
      const { id, last } = problem;
      if (last?.status === 'discuss' && last.reason !== null)
        return say(`There is nothing to decide about ${id}: ${last.reason}.`, 'See: agentos status');
      return say(
        `${id} is not waiting for a decision: ${last === null ? 'it was never run' : `its last run (${last.workflow} ${last.runId}) ended as ${last.status}${last.step === null ? '' : `, at ${last.step}`}`}.`,
        'Only an item that ended in DISCUSS waits for one: see agentos status.',
      );
    }
    case 'decision-refused': {
      const { id, workflow, detail } = problem;
      switch (problem.why) {
        case 'changed':
          return say(
            `The text behind ${workflow} ${id} changed after the question was asked.`,
            `The decision would not count for the new text. Run it first: agentos ${workflow} ${id}`,
          );
        case 'checks':
          return say(
            `${workflow} ${id} can't be approved: ${detail}`,
            `Say what to change: agentos decide ${id} --revise "…", or give it up with --drop.`,
          );
        case 'questions':
          return say(
            `An approval of ${workflow} ${id} has to answer its open questions: ${detail}`,
            `Give the answer: agentos decide ${id} --approve --reason "…"`,
          );
        case 'kept':
          return say(
            `Issue ${id} changed since its LLD was approved: to keep the LLD, say why it still fits.`,
            `Write: agentos decide ${id} --approve --reason "…"`,
          );
        case 'recorded':
          return say(
            `${workflow} ${id} is part of the recorded tour, which can't make a change.`,
            `Decide with --approve --reason "…" or --drop, or have a model work on it: agentos ${workflow} ${id}`,
          );
      }
    }
    case 'internal':
      return say(
        `Internal error: ${firstLine(problem.detail)}`,
        'Please report it with the log of the run. Finished steps are kept.',
      );
  }
}

function undetected({ script, runner }: { script: string | null; runner: string | null }): string {
  if (script !== null) return `: "${shorten(script)}" starts no known test runner`;
  return runner === null ? '' : `: ${runner} is used there, which is not supported`;
}

const MOST_LISTED = 20;

/** Names for one line; of many, the first. */
export function listed(files: readonly string[]): string {
  const more = files.length - MOST_LISTED;
  return `${files.slice(0, MOST_LISTED).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

/** What the operating system's codes mean to a person; any other reason is in words already. */
const SYSTEM_REASONS: Record<string, string> = {
  ENOENT: 'it does not exist',
  EEXIST: 'something else is in its place',
  EISDIR: 'it is a folder',
  ENOTDIR: 'a part of its path is not a folder',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  ELOOP: 'its symbolic links form a loop',
  ENAMETOOLONG: 'its name is too long',
  EMFILE: 'too many files are open',
};

function inWords(reason: string): string {
  return SYSTEM_REASONS[reason] ?? reason;
}

/** For reasons that continue the sentence after the file's name: "is empty", but "can't be read: it is a folder". */
function predicate(reason: string): string {
  const words = SYSTEM_REASONS[reason];
  return words === undefined ? reason : `can't be read: ${words}`;
}

function ended(sentence: string): string {
  return /[.?!…]$/.test(sentence) ? sentence : `${sentence}.`;
}

function status(code: number | null): string {
  return code === null ? '' : ` (${code})`;
}

function shorten(text: string): string {
  const line = JSON.stringify(text).slice(1, -1);
  return line.length > 120 ? `${line.slice(0, 117)}…` : line;
}
