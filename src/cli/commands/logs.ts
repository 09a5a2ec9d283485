import { open } from 'node:fs/promises';
import { AgentosError } from '../../core/errors.ts';
import { EXIT } from '../../core/exit-code.ts';
import { parseItemId } from '../../core/ids.ts';
import { newestLog, readRun } from '../../workspace/run-history.ts';
import { type PlaceFlags, projectOf } from '../place-flags.ts';

const POLL_MS = 200;

export async function logsCommand(idText: string, flags: PlaceFlags & { follow?: boolean }): Promise<number> {
  const id = parseItemId(idText);
  const { paths, mask } = await projectOf(flags);
  const log = await newestLog(paths, id);
  if (log === null) throw new AgentosError({ code: 'log-missing', id });
  const file = await open(log.file, 'r');
  try {
    let position = 0;
    const print = async (): Promise<void> => {
      const { size } = await file.stat();
      if (size <= position) return;
      const { buffer, bytesRead } = await file.read(Buffer.alloc(size - position), 0, size - position, position);
      // A character cut by the end of the file is printed with the next piece.
      const end = flags.follow ? buffer.lastIndexOf(0x0a, bytesRead - 1) + 1 : bytesRead;
      position += end;
      process.stdout.write(mask(buffer.toString('utf8', 0, end)));
    };
    await print();
    while (flags.follow) {
      // Ended is read before the last print, so that what came in between is not missed.
      const ended = (await readRun(paths, log.runId))?.state !== 'running';
      await print();
      if (ended) break;
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  } finally {
    await file.close();
  }
  return EXIT.ok;
}
