import { open } from 'node:fs/promises';
import { AgentosError } from '../../core/errors.ts';
import { EXIT } from '../../core/exit-code.ts';
import { type ItemId, parseItemId } from '../../core/ids.ts';
import type { Paths } from '../../core/paths.ts';
import { newestLog, runUnderWay } from '../../workspace/run-history.ts';
import { type PlaceFlags, projectOf } from '../place-flags.ts';

const POLL_MS = 200;
/** Whether the item has ended is asked less often: it takes reading all events of the run. */
const LOOKS_PER_QUESTION = 4;
const LARGEST_PIECE_BYTES = 1 << 20;

export async function logsCommand(idText: string, flags: PlaceFlags & { follow?: boolean }): Promise<number> {
  const id = parseItemId(idText);
  const { paths, mask } = await projectOf(flags);
  const follow = flags.follow ?? false;
  const log = await newestLog(paths, id, follow ? await runToFollow(paths, id) : null);
  if (log === null) throw new AgentosError({ code: 'log-missing', id });
  const file = await open(log.file, 'r');
  try {
    let position = 0;
    /** Prints what is new, up to the last whole line: the rest may be half a character, or half a secret. */
    const print = async (toTheEnd: boolean): Promise<void> => {
      const { size } = await file.stat();
      while (position < size && isRead()) {
        const length = Math.min(LARGEST_PIECE_BYTES, size - position);
        const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, position);
        const lines = buffer.lastIndexOf(0x0a, bytesRead - 1) + 1;
        const end = lines > 0 ? lines : toTheEnd || bytesRead === LARGEST_PIECE_BYTES ? bytesRead : 0;
        if (end === 0) return;
        position += end;
        process.stdout.write(mask(buffer.toString('utf8', 0, end)));
      }
    };
    // Ended is read before the last print, so that what came in between is not missed.
    while (follow && isRead() && (await runUnderWay(paths, id)) === log.runId) {
      for (let look = 0; look < LOOKS_PER_QUESTION; look++) {
        await print(false);
        await pause();
      }
    }
    await print(true);
  } finally {
    await file.close();
  }
  return EXIT.ok;
}

/** The run that works on the item now, once there is a log in it; null when none does. */
async function runToFollow(paths: Paths, id: ItemId): Promise<string | null> {
  for (;;) {
    const runId = await runUnderWay(paths, id);
    if (runId === null || (await newestLog(paths, id, runId)) !== null || !isRead()) return runId;
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
