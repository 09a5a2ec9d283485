/** `3 min`, `3 min 30 s`, `45 s`. */
export function formatDuration(seconds) {
  if (!Number.isInteger(seconds) || seconds < 0) throw new RangeError(`Not a number of seconds: ${seconds}`);
  const minutes = Math.floor(seconds / 60);
  const rest = seconds % 60;
  if (minutes === 0) return `${rest} s`;
  return rest === 0 ? `${minutes} min` : `${minutes} min ${rest} s`;
}
