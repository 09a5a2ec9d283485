import { stripVTControlCharacters } from 'node:util';
import { formatDuration } from './duration.ts';
import type { Problem } from './errors.ts';

export interface Wording {
  message: string;
  /** What to do next. */
  hint: string | null;
}

/**
 * Facts into words: the one place where a person is told what went wrong and what to do. Each is one line, whatever the
 * facts hold: a path, a flag's value or a vendor's message may have line breaks and escape codes in it.
 */
export function wordingOf(problem: Problem): Wording {
  const { message, hint } = wordsOf(problem);
  return { message: oneLine(message), hint: hint === null ? null : oneLine(hint) };
}

function wordsOf(problem: Problem): Wording {
  const say = (message: string, hint: string | null = null): Wording => ({ message, hint });
  switch (problem.code) {
    case 'usage':
      return say(problem.reason, problem.hint ?? null);
    case 'bad-id':
      return say(
        `"${shorten(problem.id)}" is not a valid id.`,
        'Ids are 1 to 64 letters, digits, hyphens and underscores: the name of the file in issues/ without .md.',
      );
    case 'config-unreadable':
      return say(
        `${problem.file} can't be read: ${inWords(problem.reason)}.`,
        'Check the path and who may read it. Without a configuration the defaults hold; agentos init writes one.',
      );
    case 'config-invalid': {
      const place = problem.line === null ? problem.file : `${problem.file}:${problem.line}`;
      return say(
        ended(`${place}: ${problem.path ? `${problem.path} ` : ''}${problem.reason}`),
        'agentos init --print shows every setting with its meaning.',
      );
    }
    case 'model-spec-invalid':
      return say(
        ended(`"${shorten(problem.spec)}" is not a model: ${problem.reason}`),
        'Write provider:model, e.g. anthropic:claude-opus-5, or use --offline.',
      );
    case 'key-missing': {
      const variables = problem.variables.join(' or ');
      const where = variables
        ? `Set ${variables}`
        : `Name the variable that holds it in agentos.yaml under keys.${problem.provider}`;
      return say(
        `The ${problem.role} needs a key for ${problem.provider}, and there is none.`,
        `${where}, choose another model with --${problem.role}, or try it without any key: --offline.`,
      );
    }
    case 'prompt-invalid':
      return say(`${problem.file} ${predicate(problem.reason)}.`, 'Mend it, or delete it to use the built-in prompt.');
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
    case 'provider-rejected-key':
      return say(
        `${problem.provider} does not accept the key${status(problem.status)}: ${problem.detail}`,
        'Check the key and what it may do, then run the same command again.',
      );
    case 'provider-quota':
      return say(
        `${problem.provider} has no quota left${status(problem.status)}: ${problem.detail}`,
        problem.retryAfterMs === null
          ? 'Run the same command again when there is quota: finished steps are not repeated.'
          : `It asks to come back in ${formatDuration(problem.retryAfterMs)}. Finished steps are not repeated.`,
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
      return say(`${problem.provider} answered with nothing.`, 'Run the same command again, or choose another model.');
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
          ? `was ended by ${problem.signal ?? 'a signal'}`
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
        `The time for it is up (${formatDuration(problem.afterMs)}).`,
        'Run the same command with a higher --timeout: it goes on where it stopped.',
      );
    case 'run-timeout':
      return say(
        `The time for the whole run is up (${formatDuration(problem.afterMs)}).`,
        'Run the same command with a higher --global-timeout: it goes on where it stopped.',
      );
    case 'item-stalled':
      return say(
        `Its worker gave no sign of life for ${formatDuration(problem.afterMs)} and was ended.`,
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
        'Mend it, then run the same again: finished steps are not repeated.',
      );
    case 'halted':
      return say(
        `Not started: the batch was halted after ${problem.failures} failure(s), the last one ${problem.cause}.`,
        'Mend the cause, or allow more with --halt <n>.',
      );
    case 'over-budget':
      return say(
        `The ${problem.scope === 'item' ? 'item' : 'run'}'s budget of $${problem.limitUsd} does not cover the next call ($${problem.spentUsd.toFixed(4)} spent).`,
        `Run the same command with a higher ${problem.scope === 'item' ? '--max-cost-per-item' : '--max-cost'}: it goes on where it stopped.`,
      );
    case 'interrupted':
      return say(`Interrupted by ${problem.signal}.`, 'Run the same command again: it goes on where it stopped.');
    case 'journal-fenced':
      return say(
        `Another run took over ${problem.file}.`,
        'This one stopped without changing anything. See: agentos status',
      );
    case 'journal-damaged':
      return say(
        `The checkpoint ${problem.file} is damaged (${problem.reason}) and was kept as ${problem.keptAs}.`,
        'Run the same command again: it starts this item anew.',
      );
    case 'journal-newer':
      return say(
        `The checkpoint ${problem.file} was written by a newer agentos (format ${problem.found}, this one knows ${problem.supported}).`,
        'Use that version, or move the file away to start anew.',
      );
    case 'journal-full':
      return say(
        `The disk is full: ${problem.file} could not be written (${problem.reason}).`,
        'Make room, then run the same command again: finished steps are not repeated.',
      );
    case 'journal-unusable':
      return say(
        `The checkpoint ${problem.file} can't be used: ${problem.reason}.`,
        'Check the folder, or choose another one with --base-dir.',
      );
    case 'item-locked':
      return say(
        `${problem.workflow} ${problem.id} is being worked on by another run (process ${problem.pid}, since ${problem.since}).`,
        'Wait for it to end. See: agentos status',
      );
    case 'git-failed':
      return say(
        ended(`${shorten(problem.command)} failed: ${problem.detail}`),
        'See what git itself says in that folder, then run the same command again.',
      );
    case 'output-unwritable':
      return say(
        `${problem.path} could not be written: ${inWords(problem.reason)}.`,
        'Check the folder and the free space, then run the same command again: finished steps are not repeated.',
      );
    case 'demo-folder-taken':
      return say(
        `${problem.directory} exists and was not made by the demo.`,
        'Name another folder: agentos demo --dir <folder>',
      );
    case 'run-missing':
      return say(
        `There is no run ${shorten(problem.run)}.`,
        'agentos status lists the runs; agentos lld --all starts one.',
      );
    case 'log-missing':
      return say(`There is no log of ${shorten(problem.id)}.`, 'agentos status lists what was run.');
    case 'internal':
      return say(
        `Something went wrong that should not: ${firstLine(problem.detail)}`,
        'Please report it with the log of the run. Nothing that was finished is lost.',
      );
  }
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
  ELOOP: 'its links go round in a circle',
  ENAMETOOLONG: 'its name is too long',
  EMFILE: 'too many files are open',
};

function inWords(reason: string): string {
  return SYSTEM_REASONS[reason] ?? reason;
}

/** For reasons that go on after the file's name: "is empty", but "can't be read: it is a folder". */
function predicate(reason: string): string {
  const words = SYSTEM_REASONS[reason];
  return words === undefined ? reason : `can't be read: ${words}`;
}

function ended(sentence: string): string {
  return /[.?!…]$/.test(sentence) ? sentence : `${sentence}.`;
}

function oneLine(text: string): string {
  return stripVTControlCharacters(text)
    .replace(/[\p{Cc}\u2028\u2029]+/gu, ' ')
    .trim();
}

function status(code: number | null): string {
  return code === null ? '' : ` (${code})`;
}

function firstLine(text: string): string {
  return text.split('\n')[0] ?? '';
}

function shorten(text: string): string {
  const line = JSON.stringify(text).slice(1, -1);
  return line.length > 120 ? `${line.slice(0, 117)}…` : line;
}
