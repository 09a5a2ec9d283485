import { createMask } from '../core/mask.ts';
import { Secret } from '../core/secret.ts';

const MAX_DETAIL_CHARS = 300;

/** One line that is safe to show: no key in it, no control characters, not too long. */
export function detailOf(text: string, secret = ''): string {
  const clean = secret === '' ? text : createMask([new Secret(secret)])(text.replaceAll(secret, '[secret]'));
  const line = clean.replaceAll(/[\s\p{Cc}]+/gu, ' ').trim();
  return line.length > MAX_DETAIL_CHARS ? `${line.slice(0, MAX_DETAIL_CHARS - 1)}…` : line;
}

/** What a text that should have been JSON is about: of a page the title, of other text the beginning. */
export function gistOf(text: string): string {
  return (
    /<title[^>]*>([^<]*)/i.exec(text)?.[1] ??
    text
      .replaceAll(/<[^>]*>/g, ' ')
      .trim()
      .slice(0, 120)
  );
}
