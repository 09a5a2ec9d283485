import { formatDuration, localTime } from './duration.ts';
import { type MissingKey, type Problem, toErrorRecord } from './errors.ts';
import { HOST_PROBLEMS } from './host-problems.ts';
import { HUB_PROBLEMS } from './hub-problems.ts';
import { IMPLEMENTATION_PROBLEMS, type Words } from './implementation-problems.ts';
import { endSentence, firstLine, inWords, oneLine, predicate, shorten, statusText } from './lines.ts';

interface Wording {
  message: string;
  /** What to do next. */
  hint: string | null;
}

/**
 * What happened and what to do, in words. Each is one line, even if a path, a flag's value or a vendor's message contains line breaks
 * or escape codes.
 */
export function wordingOf(problem: Problem): Wording {
  const words = PROBLEMS[problem.code] as (facts: Problem) => Words;
  const [message, hint] = words(problem);
  return { message: endSentence(oneLine(message)), hint: hint === null ? null : oneLine(hint) };
}

/** What happened, from a caught error. */
export function messageOf(error: unknown): string {
  return wordingOf(toErrorRecord(error).problem).message;
}

/** What happened and what to do, as one text. */
export function explanationOf(problem: Problem): string {
  const { message, hint } = wordingOf(problem);
  return hint === null ? message : `${message} ${hint}`;
}

/** Everything that can go wrong: its code, its facts, and its message with a hint. */
const PROBLEMS = {
  // usage and configuration: nothing was started
  usage: (p: { reason: string; hint?: string }) => [p.reason, p.hint ?? null],
  'bad-id': (p: { id: string }) => [
    `"${shorten(p.id)}" is ${p.id.endsWith('.md') ? 'neither an id nor the file of an issue here' : 'not a valid id'}.`,
    'Ids are 1 to 64 letters, digits, hyphens and underscores: the name of the file in issues/ or briefs/ without .md.',
  ],
  'config-unreadable': (p: { file: string; reason: string }) => [
    `${p.file} ${predicate(p.reason)}.`,
    'Check the path and its permissions. Without a configuration the defaults apply; agentos init writes one.',
  ],
  'config-invalid': (p: { file: string; line: number | null; path: string; reason: string }) => {
    const place = p.line === null ? p.file : `${p.file}:${p.line}`;
    return [
      `${place}: ${p.path ? `${p.path} ` : ''}${p.reason}`,
      'agentos init --print shows every setting with its meaning.',
    ];
  },
  'model-spec-invalid': (p: { spec: string; reason: string }) => [
    `"${shorten(p.spec)}" is not a model: ${p.reason}`,
    'Write provider:model, e.g. anthropic:claude-opus-5.',
  ],
  'key-missing': ({ missing }: { missing: MissingKey[] }) => {
    const needs = missing.map(({ provider, roles }) => `${provider} (${roles.join(' and ')})`);
    const variables = missing.map(
      ({ provider, variables: names }) =>
        names.join(' or ') || `a variable that agentos.yaml names under keys.${provider}`,
    );
    const flags = missing.flatMap(({ roles }) => roles.map((role) => `--${role}`));
    return [
      `There is no key for ${needs.join(' or ')}.`,
      `Set ${variables.join(', and ')}, or choose another model with ${flags.join(', ')}.`,
    ];
  },
  'prompt-invalid': (p: { file: string; reason: string }) => [
    `${p.file} ${predicate(p.reason)}.`,
    'Fix it, or delete it to use the built-in prompt.',
  ],
  'git-missing': () => ['git was not found.', 'Install git and make sure that it is on the PATH.'],
  'repository-missing': (p: { directory: string }) => [
    `${p.directory} is not inside a git repository.`,
    'Go to your repository, name it with --repo <dir>, or create one with: git init',
  ],
  'repository-empty': (p: { directory: string }) => [
    `The repository ${p.directory} has no commit yet.`,
    'A design needs a base commit. Run: git add -A && git commit -m "First commit"',
  ],
  'file-unreadable': (p: { path: string; reason: string }) => [
    `${p.path} ${predicate(p.reason)}.`,
    'Documents are regular UTF-8 files of at most 1 MB, inside the repository.',
  ],
  'leads-outside': (p: { path: string; folder: string }) => [
    `${p.path} leads out of ${p.folder}.`,
    'Remove the symbolic link: agentos does not follow it.',
  ],
  'state-unwritable': (p: { directory: string; reason: string }) => [
    `The state folder ${p.directory} can't be written: ${inWords(p.reason)}.`,
    'Choose another one with --base-dir <dir> or AGENTOS_HOME.',
  ],
  'state-unsafe': (p: { directory: string; reason: string }) => [
    `The state folder ${p.directory} can't be trusted: ${p.reason}.`,
    'It must be a folder that this program made on this machine. Delete it, or choose another one with --base-dir <dir>.',
  ],
  'sandbox-missing': (p: { reason: string; todo: string }) => [
    `There is no sandbox: ${p.reason}`,
    `${p.todo} Or run without one: --sandbox off`,
  ],
  'ui-unreachable': (p: { host: string; port: number; reason: string }) => [
    `The dashboard can't listen on ${p.host}:${p.port}: ${p.reason === 'EADDRINUSE' ? 'the port is taken' : inWords(p.reason)}.`,
    'Choose another port with --port <n>, or leave it out.',
  ],
  'run-ended': (p: { run: string }) => [
    `The run ${shorten(p.run)} has ended.`,
    'agentos status lists the runs; agentos resume resumes one.',
  ],
  'run-unreadable': (p: { run: string; file: string }) => [
    `The record of the run ${shorten(p.run)} can't be read: ${p.file} is missing or damaged.`,
    'agentos resume without a name takes the last run that can be read; agentos status lists them.',
  ],
  // source
  'source-missing': (p: { directory: string }) => [
    `There is no folder ${p.directory}.`,
    'Write an issue as issues/<id>.md: a title as first heading, then what is wanted.',
  ],
  'issue-missing': (p: { id: string; path: string; near: string[] }) => [
    `There is no issue ${p.id}: ${p.path} does not exist.`,
    p.near.length > 0
      ? `Did you mean ${p.near.join(' or ')}?`
      : 'Write it there, or take every issue that has no approved LLD: agentos lld --all',
  ],
  'issue-unreadable': (p: { id: string; path: string; reason: string }) => [
    `Issue ${p.id} can't be read: ${p.path} ${predicate(p.reason)}.`,
    'Issues are UTF-8 Markdown files.',
  ],
  'briefs-missing': (p: { directory: string }) => [
    `There is no folder ${p.directory}.`,
    'Write an idea as briefs/<name>.md, in a few sentences; the name may have letters, digits, - and _.',
  ],
  'brief-missing': (p: { id: string; path: string; near: string[] }) => [
    `There is no brief ${p.id}: ${p.path} does not exist.`,
    p.near.length > 0
      ? `Did you mean ${p.near.join(' or ')}?`
      : 'Write it there, or take every brief that has no issue: agentos issue --all',
  ],
  'brief-unreadable': (p: { id: string; path: string; reason: string }) => [
    `Brief ${p.id} can't be read: ${p.path} ${predicate(p.reason)}.`,
    'Briefs are UTF-8 text files.',
  ],
  // provider
  'provider-rejected-key': (p: { provider: string; status: number | null; detail: string }) => [
    `${p.provider} does not accept the key${statusText(p.status)}: ${p.detail}`,
    'Check the key and its permissions, then run the same command again.',
  ],
  'provider-quota': (p: { provider: string; detail: string; retryAfterMs: number | null; status: number | null }) => [
    `${p.provider} has no quota left${statusText(p.status)}: ${p.detail}`,
    p.retryAfterMs === null
      ? 'Run the same command again when there is quota: finished steps are not repeated.'
      : `Retry in ${formatDuration(p.retryAfterMs)}. Finished steps are not repeated.`,
  ],
  'provider-overloaded': (p: { provider: string; status: number | null; detail: string }) => [
    `${p.provider} is overloaded or broken${statusText(p.status)}: ${p.detail}`,
    'Run the same command again later: finished steps are not repeated.',
  ],
  'provider-unreachable': (p: { provider: string; detail: string }) => [
    `${p.provider} can't be reached: ${p.detail}`,
    'Check the network and the base URL, then run the same command again.',
  ],
  'provider-refused-request': (p: { provider: string; status: number | null; detail: string }) => [
    `${p.provider} refused the request${statusText(p.status)}: ${p.detail}`,
    p.status === 404 ? 'Check the name of the model.' : 'Fix what it names, or choose another model.',
  ],
  'provider-bad-reply': (p: { provider: string; detail: string }) => [
    `${p.provider} sent an invalid reply: ${p.detail}`,
    'Run the same command again, or choose another model.',
  ],
  'reply-empty': (p: { provider: string }) => [
    `${p.provider} sent an empty reply.`,
    'Run the same command again, or choose another model.',
  ],
  'reply-truncated': (p: { provider: string; outputTokens: number | null }) => [
    `${p.provider} stopped in the middle: its answer reached the limit of output tokens${p.outputTokens === null ? '' : ` (${p.outputTokens})`}.`,
    'Choose a model with a larger output limit, or split the issue.',
  ],
  'reply-filtered': (p: { provider: string; reason: string }) => [
    `${p.provider} withheld its answer: ${p.reason}.`,
    'Change the wording of the issue, or choose another model.',
  ],
  'reply-too-large': (p: { provider: string; limitBytes: number }) => [
    `${p.provider} answered with more than ${Math.round(p.limitBytes / 1_048_576)} MB.`,
    'A design is a few pages: check what the command prints.',
  ],
  'model-downgraded': (p: { asked: string; answered: string }) => [
    `${p.asked} was asked for the review, but ${p.answered} answered.`,
    'A review by another model is refused. Ask for that model by name with --reviewer, or try later.',
  ],
  'command-failed': (p: {
    command: string;
    exitCode: number | null;
    signal: string | null;
    detail: string;
    sandboxed?: boolean;
  }) => {
    const end = p.exitCode === null ? `was killed by ${p.signal ?? 'a signal'}` : `ended with exit code ${p.exitCode}`;
    return [
      `The command "${shorten(p.command)}" ${end}${p.detail ? `: ${p.detail}` : '.'}`,
      p.sandboxed
        ? 'It ran in the sandbox, without your files and with network to sandbox.modelHosts only. If it needs more, use --sandbox off.'
        : 'Run it by hand: it gets the prompt on stdin and prints the reply.',
    ];
  },
  // bounds
  'call-idle': (p: { what: string; afterMs: number }) => [
    `${p.what} gave no sign of life for ${formatDuration(p.afterMs)}.`,
    'Run the same command again, or allow more with --idle-timeout.',
  ],
  'call-ceiling': (p: { what: string; afterMs: number }) => [
    `${p.what} was still answering after ${formatDuration(p.afterMs)}, its upper bound.`,
    'Raise bounds.callTimeout in agentos.yaml.',
  ],
  'item-timeout': (p: { afterMs: number }) => [
    `Timed out after ${formatDuration(p.afterMs)}.`,
    'Run the same command with a higher --timeout: it resumes where it stopped.',
  ],
  'run-timeout': (p: { afterMs: number }) => [
    `The run timed out after ${formatDuration(p.afterMs)}.`,
    'Run the same command with a higher --global-timeout: it resumes where it stopped.',
  ],
  'item-stalled': (p: { afterMs: number }) => [
    `Its worker gave no sign of life for ${formatDuration(p.afterMs)} and was killed.`,
    'Run the same command again, or allow more with --idle-timeout.',
  ],
  'worker-crashed': (p: { exitCode: number | null; signal: string | null; detail: string }) => {
    const end = p.signal ? `by ${p.signal}` : p.exitCode === null ? '' : `with exit code ${p.exitCode}`;
    return [
      `Its worker process died${end ? ` ${end}` : ''}${p.detail ? `: ${firstLine(p.detail)}` : '.'}`,
      'Run the same command again: finished steps are not repeated.',
    ];
  },
  'task-missing': (p: { module: string; export: string }) => [
    `${p.module} has no function ${p.export}.`,
    'Check the module URL and the name of the export.',
  ],
  'task-failed': (p: { reason: string; stack: string | null }) => [
    `Its task failed: ${firstLine(p.reason)}`,
    'Fix it, then run the same command again: finished steps are not repeated.',
  ],
  halted: (p: { failures: number; cause: string }) => [
    `Not started: the batch was halted after ${p.failures} failure(s), the last one ${p.cause}.`,
    'Fix the cause, or allow more failures with --halt <n>.',
  ],
  'over-budget': (p: { spentUsd: number; limitUsd: number; scope: 'item' | 'run' }) => [
    `The ${p.scope === 'item' ? 'item' : 'run'}'s budget of $${p.limitUsd} does not cover the next call ($${p.spentUsd.toFixed(4)} spent).`,
    `Run the same command with a higher ${p.scope === 'item' ? '--max-cost-per-item' : '--max-cost'}: it resumes where it stopped.`,
  ],
  'item-cancelled': (p: { by: string }) => [
    `Cancelled by ${p.by}.`,
    'The next run resumes it; finished steps are not repeated.',
  ],
  interrupted: (p: { signal: string }) => [
    `Interrupted by ${p.signal}.`,
    'Run the same command again: it resumes where it stopped.',
  ],
  // journal
  'journal-fenced': (p: { file: string }) => [
    `Another run took over ${p.file}.`,
    'This one stopped without changing anything. See: agentos status',
  ],
  'journal-damaged': (p: { file: string; keptAs: string; reason: string }) => [
    `The checkpoint ${p.file} is damaged (${p.reason}) and was kept as ${p.keptAs}.`,
    'Run the same command again: it starts this item over.',
  ],
  'journal-newer': (p: { file: string; found: number; supported: number }) => [
    `The checkpoint ${p.file} was written by a newer agentos (format ${p.found}, this one knows ${p.supported}).`,
    'Use that version, or move the file away to start over.',
  ],
  'journal-full': (p: { file: string; reason: string }) => [
    `The disk is full: ${p.file} can't be written (${p.reason}).`,
    'Free some space, then run the same command again: finished steps are not repeated.',
  ],
  'journal-unusable': (p: { file: string; reason: string }) => [
    `The checkpoint ${p.file} can't be used: ${p.reason}.`,
    'Check the folder, or choose another one with --base-dir.',
  ],
  'item-locked': (p: { id: string; workflow: string; pid: number; since: string }) => [
    `${p.workflow} ${p.id} is being worked on by another run (process ${p.pid}, since ${localTime(p.since)}).`,
    'Wait for it to end. See: agentos status',
  ],
  'watch-running': (p: { pid: number; since: string }) => [
    `agentos watch is already running in this repository (process ${p.pid}, since ${localTime(p.since)}).`,
    'Stop it first to start another one.',
  ],
  // workspace
  'git-failed': (p: { command: string; exitCode: number | null; detail: string }) => [
    `${shorten(p.command)} failed: ${p.detail}`,
    'Fix what git reports, then run the same command again.',
  ],
  'output-unwritable': (p: { path: string; reason: string }) => [
    `${p.path} could not be written: ${inWords(p.reason)}.`,
    'Check the folder and the free space, then run the same command again: finished steps are not repeated.',
  ],
  'disk-unwritable': (p: { directory: string; reason: string }) => [
    `${p.directory} can't be written: ${inWords(p.reason)}.`,
    'Make it writable, or free some space, then run: agentos resume. Finished steps are not repeated.',
  ],
  'demo-folder-taken': (p: { directory: string }) => [
    `${p.directory} already exists.`,
    'Name a new or empty folder: agentos demo --dir <folder>',
  ],
  untrusted: (p: { claims: string[]; command: string }) => [
    `This repository's settings are not trusted yet: ${p.claims.join('; ')}.`,
    `Look at them, then allow them: ${p.command}. Or for this run only: --trust.`,
  ],
  'run-missing': (p: { run: string }) => [
    `There is no run ${shorten(p.run)}.`,
    'agentos status lists the runs; agentos lld --all starts one.',
  ],
  ...HUB_PROBLEMS,
  ...IMPLEMENTATION_PROBLEMS,
  ...HOST_PROBLEMS,
  internal: (p: { detail: string }) => [
    `Internal error: ${firstLine(p.detail)}`,
    'Please report it with the log of the run. Finished steps are kept.',
  ],
} satisfies Record<string, (facts: never) => Words>;

export type Problems = typeof PROBLEMS;
