import { isItemId } from '../core/ids.ts';
import { parseJson } from '../core/json.ts';
import type { RunPaths } from '../core/paths.ts';
import { followFile } from './follow.ts';

/** A line of the requests of a run. */
export interface CancelRequest {
  at: string;
  type: 'cancel';
  item: string;
  by: string;
}

/** People don't notice a shorter delay. */
const LOOK_EVERY_MS = 500;
const LONGEST_NAME = 200;

/** In the run: calls back for each item that is to be cancelled, until it is closed. */
export function followCancels(run: RunPaths, onCancel: (id: string, by: string) => void): { close(): void } {
  const closing = new AbortController();
  const onPiece = ({ text }: { text: string }): void => {
    for (const line of text.split('\n')) {
      const request = parseJson(line);
      if (isCancelRequest(request)) onCancel(request.item, request.by.slice(0, LONGEST_NAME));
    }
  };
  // A folder that was deleted under the run, or a disk that fails, costs this and nothing else.
  void followFile(run.requests, 0, { signal: closing.signal, onPiece, everyMs: LOOK_EVERY_MS }).catch(() => undefined);
  return { close: () => closing.abort() };
}

function isCancelRequest(value: unknown): value is CancelRequest {
  if (typeof value !== 'object' || value === null) return false;
  const { type, item, by } = value as Record<string, unknown>;
  return type === 'cancel' && typeof item === 'string' && isItemId(item) && typeof by === 'string';
}
