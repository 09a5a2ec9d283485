import type { Subscriber } from '../core/events.ts';
import { firstLine } from '../core/lines.ts';
import { describeCounts, type Summary } from '../core/summary.ts';
import { runProgram } from '../process/program.ts';
import type { Project } from './project.ts';

/** How to notify the user. */
export interface NotifySettings {
  /** A shell command that gets the summary as JSON on its standard input; null: none. */
  command: string | null;
  /** Show a desktop notification, if the desktop has them. */
  desktop: boolean;
}

/** `ended`: the run is over; `paused`: no key of a vendor has quota; `needs-person`: an item waits for a decision. */
type Occasion = 'ended' | 'paused' | 'needs-person';

interface NotifierOptions {
  project: Project;
  settings: NotifySettings;
  /** The results so far. */
  summary: () => Promise<Summary>;
  warn: (text: string) => void;
}

export interface Notifier {
  subscriber: Subscriber;
  /** Resolves when the command has ended or timed out. */
  ended(summary: Summary, withinMs: number): Promise<void>;
}

const COMMAND_MS = 10_000;
const DESKTOP_MS = 3_000;
const MOMENT_MS = 1_000;
/** The least time between two notifications of the same kind: a batch may have a hundred questions. */
const LEAST_MS = 60_000;
/** Shorter pauses are over before anybody could react. */
const LONG_PAUSE_MS = 60_000;
/** The user is still looking at a shorter run. */
const LONG_RUN_MS = 30_000;

/** Runs the command and shows the desktop notification. A problem with either is only a warning. */
export function createNotifier({ project, settings, summary, warn }: NotifierOptions): Notifier {
  const lastMs = new Map<Occasion, number>();
  const startedMs = performance.now();
  const send = async (occasion: Occasion, about: Summary, withinMs: number): Promise<void> => {
    const isLong = occasion !== 'ended' || performance.now() - startedMs > LONG_RUN_MS;
    await Promise.all([
      settings.command === null
        ? null
        : runCommand(project, settings.command, occasion, about, withinMs).then(
            (problem) => problem !== null && warn(problem),
          ),
      settings.desktop && isLong ? notifyDesktop(project, textOf(occasion, about)) : null,
    ]);
  };
  const timers = new Map<Occasion, NodeJS.Timeout>();
  const underWay = new Set<Promise<void>>();
  const begin = (occasion: Occasion): void => {
    timers.delete(occasion);
    lastMs.set(occasion, performance.now());
    const sending = summary()
      .then((about) => send(occasion, about, COMMAND_MS))
      .catch((error: unknown) => warn(`The notification failed: ${String(error)}`))
      .finally(() => underWay.delete(sending));
    underWay.add(sending);
  };
  const onOccasion = (occasion: Occasion): void => {
    const isRecent = performance.now() - (lastMs.get(occasion) ?? Number.NEGATIVE_INFINITY) < LEAST_MS;
    // Delayed, because the run may be about to end.
    if (!isRecent && !timers.has(occasion)) timers.set(occasion, setTimeout(() => begin(occasion), MOMENT_MS).unref());
  };
  return {
    subscriber(event) {
      if (event.type === 'item-finished' && event.status === 'discuss') onOccasion('needs-person');
      const isPause = event.type === 'pool-exhausted' && event.reason === 'quota';
      if (isPause && (event.forMs === null || event.forMs >= LONG_PAUSE_MS)) onOccasion('paused');
    },
    async ended(about, withinMs) {
      for (const timer of timers.values()) clearTimeout(timer);
      await Promise.all([...underWay, send('ended', about, Math.min(withinMs, COMMAND_MS))]);
    },
  };
}

/** Returns a warning, or null if the command succeeded. */
async function runCommand(
  { childEnv, mask }: Project,
  command: string,
  occasion: Occasion,
  about: Summary,
  timeoutMs: number,
): Promise<string | null> {
  const input = mask(`${JSON.stringify({ occasion, ...about })}\n`);
  const signal = new AbortController().signal;
  const end = await runProgram({ command, cwd: process.cwd(), env: childEnv, input, signal, timeoutMs });
  if (end.timedOut) return `The --notify command did not end within ${timeoutMs / 1_000} s and was stopped.`;
  return end.exitCode === 0
    ? null
    : `The --notify command ended with ${end.exitCode ?? end.signal}: ${firstLine(end.tail) || 'it said nothing'}`;
}

/** Does nothing if the platform's program is missing. */
async function notifyDesktop({ paths, childEnv }: Project, text: string): Promise<void> {
  const title = 'agentos';
  const script = ['on run argv', 'display notification (item 1 of argv) with title (item 2 of argv)', 'end run'];
  const command =
    process.platform === 'darwin'
      ? ['osascript', ...script.flatMap((line) => ['-e', line]), text, title]
      : ['notify-send', '--app-name=agentos', '--', title, text];
  const signal = new AbortController().signal;
  await runProgram({ command, cwd: paths.base, env: childEnv, signal, timeoutMs: DESKTOP_MS }).catch(() => undefined);
}

function textOf(occasion: Occasion, { workflow, counts, items }: Summary): string {
  if (occasion === 'paused') return `${workflow}: paused, no key has quota`;
  if (occasion === 'needs-person') {
    const ids = items.filter(({ status }) => status === 'discuss').map(({ id }) => id);
    return `${workflow}: ${ids.slice(0, 5).join(', ')} needs you`;
  }
  return `${workflow}: ended, ${describeCounts(counts)}`;
}
