import { open } from 'node:fs/promises';
import { localTime } from '../../core/duration.ts';
import { AgentosError } from '../../core/errors.ts';
import { EXIT } from '../../core/exit-code.ts';
import type { ItemId } from '../../core/ids.ts';
import { type Paths, WORKFLOWS } from '../../core/paths.ts';
import { printable } from '../../output/terminal.ts';
import { newestInRuns, newestLogs, runUnderWay } from '../../run/run-history.ts';
import { followAtHub, lookAtHubFirst } from '../hub-look.ts';
import { type DatabaseFlags, type PlaceFlags, projectOf, readItemId } from '../request.ts';

const POLL_MS = 200;
/** Whether the item has ended is asked less often: it takes reading all events of the run. */
const LOOKS_PER_QUESTION = 4;
const LARGEST_PIECE_BYTES = 1 << 20;

interface LogFlags extends PlaceFlags, DatabaseFlags {
  follow?: boolean;
  agent?: boolean;
}

export async function logsCommand(idText: string, flags: LogFlags): Promise<number> {
  const id = readItemId(idText, flags.repo);
  const project = await projectOf(flags);
  const { paths, mask } = project;
  const follow = flags.follow ?? false;
  const stop = follow ? await followAtHub(project, flags) : await lookAtHubFirst(project, flags);
  if (flags.agent === true) return printTranscripts(paths, id, mask);
  const logs = await newestLogs(paths, id, follow ? await runToFollow(paths, id) : null);
  if (logs === null) throw new AgentosError({ code: 'log-missing', id });
  const { runId } = logs;
  /** How far each log is printed. */
  const positions = new Map<string, number>();
  const printNew = async (toTheEnd: boolean): Promise<void> => {
    const files = (await newestLogs(paths, id, runId))?.files ?? [];
    for (const [index, file] of files.entries()) {
      // A stage has ended when the next one has a log.
      const isOver = toTheEnd || index < files.length - 1;
      positions.set(file, await printFrom(file, positions.get(file) ?? 0, { isOver, mask }));
    }
  };
  // Ended is read before the last print, so that what came in between is not missed.
  while (follow && isRead() && (await runUnderWay(paths, id)) === runId) {
    for (let look = 0; look < LOOKS_PER_QUESTION; look++) {
      await printNew(false);
      await pause();
    }
  }
  await printNew(true);
  await stop?.();
  return EXIT.ok;
}

/** What agents did for the item in the newest run that has transcripts of it. */
async function printTranscripts(paths: Paths, id: ItemId, mask: (text: string) => string): Promise<number> {
  const { readTranscript, transcriptFiles } = await import('../../agent/transcript.ts');
  const { transcriptLines } = await import('../../agent/programs/transcript-lines.ts');
  const newest = await newestInRuns(paths, (run) =>
    WORKFLOWS.flatMap((workflow) => transcriptFiles(run.transcripts(workflow, id))),
  );
  if (newest === null) throw new AgentosError({ code: 'log-missing', id, of: 'agent' });
  for (const file of newest.files) {
    if (!isRead()) break;
    const lines = transcriptLines(await readTranscript(file)).map((line) => `${printable(mask(line))}\n`);
    process.stdout.write(lines.join(''));
  }
  return EXIT.ok;
}

/** Prints what is new, up to the last whole line: the rest may be half a character, or half a secret. */
async function printFrom(
  path: string,
  start: number,
  { isOver, mask }: { isOver: boolean; mask: (text: string) => string },
): Promise<number> {
  const file = await open(path, 'r');
  try {
    let position = start;
    const { size } = await file.stat();
    while (position < size && isRead()) {
      const length = Math.min(LARGEST_PIECE_BYTES, size - position);
      const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, position);
      const lines = buffer.lastIndexOf(0x0a, bytesRead - 1) + 1;
      const end = lines > 0 ? lines : isOver || bytesRead === LARGEST_PIECE_BYTES ? bytesRead : 0;
      if (end === 0) break;
      position += end;
      process.stdout.write(forReader(mask(printable(buffer.toString('utf8', 0, end)))));
    }
    return position;
  } finally {
    await file.close();
  }
}

/** A person at a terminal reads their own time; a pipe gets the file as it is. */
function forReader(lines: string): string {
  if (!process.stdout.isTTY) return lines;
  return lines.replace(/^\d{4}-\d\d-\d\dT[\d:.]+Z(?= )/gm, localTime);
}

/** The run that works on the item now, once there is a log in it; null when none does. */
async function runToFollow(paths: Paths, id: ItemId): Promise<string | null> {
  for (;;) {
    const runId = await runUnderWay(paths, id);
    if (runId === null || (await newestLogs(paths, id, runId)) !== null || !isRead()) return runId;
    await pause();
  }
}

/** False when the reader of a pipe went away (`| head`). */
function isRead(): boolean {
  return process.stdout.writable && !process.stdout.destroyed;
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, POLL_MS));
}
