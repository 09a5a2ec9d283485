import { setTimeout as sleep } from 'node:timers/promises';
import { localTime } from '../../core/duration.ts';
import { AgentosError } from '../../core/errors.ts';
import type { ItemId } from '../../core/ids.ts';
import { type Paths, WORKFLOWS } from '../../core/paths.ts';
import { printable } from '../../output/terminal.ts';
import { readPiece } from '../../run/history/run-files.ts';
import { newestInRuns, newestLogs, runUnderWay } from '../../run/history/run-history.ts';
import { followAtHub, lookAtHubFirst } from '../at-hub.ts';
import { type PlaceFlags, projectOf, readItemId } from '../request.ts';

const POLL_MS = 200;
/** Whether the item has ended is checked less often, because it means reading all events of the run. */
const LOOKS_PER_CHECK = 4;

export async function logsCommand(
  idText: string,
  flags: PlaceFlags & { follow?: boolean; agent?: boolean },
): Promise<void> {
  const id = readItemId(idText, flags.repo);
  const project = await projectOf(flags);
  const { paths, mask } = project;
  const { follow = false, agent = false } = flags;
  if (!follow) await lookAtHubFirst(project, flags);
  await using _following = follow ? await followAtHub(project, flags) : null;
  if (agent) return printTranscripts(paths, id, mask);
  const logs = await newestLogs(paths, id, follow ? await runToFollow(paths, id) : null);
  if (logs === null) throw new AgentosError({ code: 'log-missing', id });
  const { runId } = logs;
  /** How far each file is printed. */
  const positions = new Map<string, number>();
  const printNew = async (isEnded: boolean): Promise<void> => {
    const files = (await newestLogs(paths, id, runId))?.files ?? [];
    for (const [index, file] of files.entries()) {
      // A stage has ended when the next one has a log.
      const isFinal = isEnded || index < files.length - 1;
      for (let at = positions.get(file) ?? 0; isRead(); ) {
        const { text, end } = await readPiece(file, at, { isFinal });
        process.stdout.write(forReader(mask(printable(text))));
        positions.set(file, end);
        if (end === at) break;
        at = end;
      }
    }
  };
  // The state is read before the last print, so that nothing in between is missed.
  while (follow && isRead() && (await runUnderWay(paths, id)) === runId) {
    for (let look = 0; look < LOOKS_PER_CHECK; look++) {
      await printNew(false);
      await sleep(POLL_MS);
    }
  }
  await printNew(true);
}

/** Prints what agents did for the item, from the newest run that has transcripts of it. */
async function printTranscripts(paths: Paths, id: ItemId, mask: (text: string) => string): Promise<void> {
  const { readTranscript, transcriptFiles, transcriptLines } = await import('../../agent/transcript.ts');
  const newest = await newestInRuns(paths, (run) =>
    WORKFLOWS.flatMap((workflow) => transcriptFiles(run.transcripts(workflow, id))),
  );
  if (newest === null) throw new AgentosError({ code: 'log-missing', id, of: 'agent' });
  for (const file of newest.files) {
    if (!isRead()) break;
    const lines = await transcriptLines(await readTranscript(file));
    process.stdout.write(lines.map((line) => `${printable(mask(line))}\n`).join(''));
  }
}

/** A terminal gets local times; a pipe gets the file as it is. */
function forReader(lines: string): string {
  if (!process.stdout.isTTY) return lines;
  return lines.replace(/^\d{4}-\d\d-\d\dT[\d:.]+Z(?= )/gm, localTime);
}

/** Waits until the run that works on the item has a log; null: no run does. */
async function runToFollow(paths: Paths, id: ItemId): Promise<string | null> {
  for (;;) {
    const runId = await runUnderWay(paths, id);
    if (runId === null || (await newestLogs(paths, id, runId)) !== null || !isRead()) return runId;
    await sleep(POLL_MS);
  }
}

/** False: the reader of a pipe went away (`| head`). */
function isRead(): boolean {
  return process.stdout.writable && !process.stdout.destroyed;
}
