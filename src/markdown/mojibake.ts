/** Windows-1252 as the reader that damaged the text had it: each character and its byte. */
const BYTES = new Map(
  Array.from({ length: 128 }, (_, at) => [new TextDecoder('windows-1252').decode(Uint8Array.of(at + 128)), at + 128]),
);
const RUN = new RegExp(`[${[...BYTES.keys()].join('')}]{2,}`, 'g');
const LEFT_OVER = /â€|Ã[©¨¼¶¤]|ï»¿|\uFFFD/;
const utf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * Restores UTF-8 that was read as Windows-1252 (`â€™`, `âœ…`, `Ã©`, a `ï»¿` in front) where its bytes are valid UTF-8. Ordinary
 * accents and quotation marks are not valid UTF-8, so they stay.
 */
export function repairMojibake(text: string): { text: string; damaged: boolean } {
  const result = text.replace(RUN, (run) => {
    try {
      return utf8.decode(Uint8Array.from(run, (character) => BYTES.get(character) ?? 0));
    } catch {
      return run;
    }
  });
  return { text: result.replace(/^\uFEFF/, ''), damaged: result !== text || LEFT_OVER.test(result) };
}
