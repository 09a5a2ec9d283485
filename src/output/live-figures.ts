/** `0:42`, `4:05`, `1:02:03`: of a width that changes seldom, unlike words for a duration. */
export function clockTime(ms: number): string {
  const seconds = Math.floor(ms / 1_000);
  const minutes = Math.floor(seconds / 60);
  const two = (value: number): string => String(value % 60).padStart(2, '0');
  return minutes < 60 ? `${minutes}:${two(seconds)}` : `${Math.floor(minutes / 60)}:${two(minutes)}:${two(seconds)}`;
}

/** `950`, `12.3k`, `1.23M` */
export function shortCount(count: number): string {
  if (count < 1_000) return String(count);
  return count < 999_950 ? `${(count / 1_000).toFixed(1)}k` : `${(count / 1_000_000).toFixed(2)}M`;
}

export function shortMoney(usd: number | null): string {
  if (usd === null) return '$?';
  return `$${usd.toFixed(usd < 1 ? 4 : 2)}`;
}
