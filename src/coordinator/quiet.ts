import type { Readable } from 'node:stream';

const QUIET_TURNS = 2;
const MOST_TURNS = 2_000;

/**
 * Resolves when nothing more comes from streams whose writer has stopped writing. What it wrote is in the pipe already,
 * so it shows within the next turns of the event loop; two turns without any are the end.
 */
export async function quiet(streams: readonly Readable[]): Promise<void> {
  let heard = false;
  const listen = (): void => {
    heard = true;
  };
  for (const stream of streams) stream.on('data', listen);
  for (let turn = 0, silent = 0; turn < MOST_TURNS && silent < QUIET_TURNS; turn++) {
    heard = streams.some((stream) => !stream.destroyed && stream.isPaused() && stream.readableLength > 0);
    await new Promise<void>((resolve) => setImmediate(resolve));
    silent = heard ? 0 : silent + 1;
  }
  for (const stream of streams) stream.off('data', listen);
}
