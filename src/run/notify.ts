import { setTimeout as sleep } from 'node:timers/promises';
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

export type Notifier = ReturnType<typeof createNotifier>;

const COMMAND_MS = 10_000;
const DESKTOP_MS = 3_000;
const MOMENT_MS = 1_000;
/** The least time between two notifications of the same kind: a batch may have a hundred questions. */
const LEAST_MS = 60_000;
/** Shorter pauses are over before anybody could react. */
const LONG_PAUSE_MS = 60_000;
/** The user is still looking at a shorter run. */
const LONG_RUN_MS = 30_000;

/** Runs the command and shows the desktop notification. A problem with either is only a warning. `summary`: of the results so far. */
export function createNotifier(
  project: Project,
  { command, desktop }: NotifySettings,
  summary: () => Promise<Summary>,
  warn: (text: string) => void,
) {
  const startedMs = performance.now();
  const lastMs = new Map<Occasion, number>();
  const underWay: Promise<void>[] = [];
  const end = new AbortController();

  const send = async (occasion: Occasion, about: Summary, withinMs: number): Promise<void> => {
    const isShown = desktop && (occasion !== 'ended' || performance.now() - startedMs > LONG_RUN_MS);
    const shown = isShown ? notifyDesktop(project, textOf(occasion, about)) : null;
    const problem = command === null ? null : await runCommand(project, command, { occasion, ...about }, withinMs);
    if (problem !== null) warn(problem);
    await shown;
  };
  const onOccasion = (occasion: Occasion): void => {
    const nowMs = performance.now();
    if (nowMs - (lastMs.get(occasion) ?? Number.NEGATIVE_INFINITY) < LEAST_MS) return;
    lastMs.set(occasion, nowMs);
    const sent = async (): Promise<void> => {
      // The run may be about to end.
      await sleep(MOMENT_MS, undefined, { signal: end.signal, ref: false }).catch(() => undefined);
      if (!end.signal.aborted) await send(occasion, await summary(), COMMAND_MS);
    };
    underWay.push(sent().catch((error: unknown) => warn(`The notification failed: ${String(error)}`)));
  };
  const subscriber: Subscriber = (event) => {
    if (event.type === 'item-finished' && event.status === 'discuss') onOccasion('needs-person');
    const isPause = event.type === 'pool-exhausted' && event.reason === 'quota';
    if (isPause && (event.forMs === null || event.forMs >= LONG_PAUSE_MS)) onOccasion('paused');
  };
  return {
    subscriber,
    /** Resolves when the command has ended or timed out. */
    async ended(about: Summary, withinMs: number): Promise<void> {
      end.abort();
      await Promise.all([...underWay, send('ended', about, Math.min(withinMs, COMMAND_MS))]);
    },
  };
}

/** Returns a warning, or null if the command succeeded. */
async function runCommand(
  { childEnv, mask }: Project,
  command: string,
  about: object,
  timeoutMs: number,
): Promise<string | null> {
  const input = mask(`${JSON.stringify(about)}\n`);
  const { signal } = new AbortController();
  const end = await runProgram({ command, cwd: process.cwd(), env: childEnv, input, signal, timeoutMs });
  if (end.timedOut) return `The --notify command did not end within ${timeoutMs / 1_000} s and was stopped.`;
  if (end.exitCode === 0) return null;
  return `The --notify command ended with ${end.exitCode ?? end.signal}: ${firstLine(end.tail) || 'it said nothing'}`;
}

/** Does nothing if the platform's program is missing. */
async function notifyDesktop({ paths, childEnv }: Project, text: string): Promise<void> {
  const script = ['on run argv', 'display notification (item 1 of argv) with title (item 2 of argv)', 'end run'];
  const command =
    process.platform === 'darwin'
      ? ['osascript', ...script.flatMap((line) => ['-e', line]), text, 'agentos']
      : ['notify-send', '--app-name=agentos', '--', 'agentos', text];
  const { signal } = new AbortController();
  await runProgram({ command, cwd: paths.base, env: childEnv, signal, timeoutMs: DESKTOP_MS }).catch(() => undefined);
}

function textOf(occasion: Occasion, { workflow, counts, items }: Summary): string {
  if (occasion === 'paused') return `${workflow}: paused, no key has quota`;
  if (occasion === 'ended') return `${workflow}: ended, ${describeCounts(counts)}`;
  const ids = items.filter(({ status }) => status === 'discuss').map(({ id }) => id);
  return `${workflow}: ${ids.slice(0, 5).join(', ')} needs you`;
}
