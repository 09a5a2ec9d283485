import { systemCode } from '../core/errors.ts';

/** A reader that goes away (`| head`) is no error of ours: nothing more is shown to it, and the work goes on or ends. */
export function closedPipeEndsQuietly(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error) => {
      if (systemCode(error) !== 'EPIPE' && systemCode(error) !== 'EIO') throw error;
    });
  }
}
