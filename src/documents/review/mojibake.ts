/** The characters that Windows-1252 has where Latin-1 has controls, by their byte. */
const WINDOWS_1252: [number, string][] = [
  [0x80, '€'],
  [0x82, '‚'],
  [0x83, 'ƒ'],
  [0x84, '„'],
  [0x85, '…'],
  [0x86, '†'],
  [0x87, '‡'],
  [0x88, 'ˆ'],
  [0x89, '‰'],
  [0x8a, 'Š'],
  [0x8b, '‹'],
  [0x8c, 'Œ'],
  [0x8e, 'Ž'],
  [0x91, '‘'],
  [0x92, '’'],
  [0x93, '“'],
  [0x94, '”'],
  [0x95, '•'],
  [0x96, '–'],
  [0x97, '—'],
  [0x98, '˜'],
  [0x99, '™'],
  [0x9a, 'š'],
  [0x9b, '›'],
  [0x9c, 'œ'],
  [0x9e, 'ž'],
  [0x9f, 'Ÿ'],
];
const BYTES = new Map(WINDOWS_1252.map(([byte, character]) => [character, byte]));
const RUN = new RegExp(`[\\u0080-\\u00ff${WINDOWS_1252.map(([, character]) => character).join('')}]{2,}`, 'g');
const LEFT_OVER = /â€|Ã[©¨¼¶¤]|ï»¿|\uFFFD/;

const utf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * UTF-8 that was read as Windows-1252 (`â€™`, `âœ…`, `Ã©`, a `ï»¿` in front), turned back where its bytes are
 * valid UTF-8. Ordinary accents and quotation marks aren't, so they stay as they are.
 */
export function repairMojibake(text: string): { text: string; damaged: boolean } {
  let repaired = false;
  const result = text.replace(RUN, (run) => {
    const bytes = Uint8Array.from(run, (character) => BYTES.get(character) ?? character.charCodeAt(0));
    try {
      const decoded = utf8.decode(bytes);
      repaired = true;
      return decoded;
    } catch {
      return run;
    }
  });
  return { text: result.replace(/^\uFEFF/, ''), damaged: repaired || LEFT_OVER.test(result) };
}
