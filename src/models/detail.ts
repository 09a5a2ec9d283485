const MAX_DETAIL_CHARS = 300;

/** One line that is safe to show: no key in it, no control characters, not too long. */
export function detailOf(text: string, secret = ''): string {
  const clean = secret === '' ? text : text.replaceAll(secret, '[secret]');
  const line = clean.replaceAll(/[\s\p{Cc}]+/gu, ' ').trim();
  return line.length > MAX_DETAIL_CHARS ? `${line.slice(0, MAX_DETAIL_CHARS - 1)}…` : line;
}
