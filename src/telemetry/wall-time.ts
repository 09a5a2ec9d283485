/** A clock that was set, or a machine that slept, is noticed by this much. */
const LARGEST_DRIFT_MS = 50;

let originMs = performance.timeOrigin;

/** The wall's time as fine as the monotonic clock, so that spans of all processes nest as they happened. */
export function wallTimeMs(): number {
  const sinceMs = performance.now();
  const wallMs = Date.now();
  if (Math.abs(wallMs - (originMs + sinceMs)) > LARGEST_DRIFT_MS) originMs = wallMs - sinceMs;
  return originMs + sinceMs;
}
