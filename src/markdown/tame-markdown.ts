/*
 * The parser takes quadratic time for nested containers, underlined headings, and openers that nothing closes in one paragraph.
 * Real documents have few of them, but a hostile text can consist of nothing else. Beyond these limits such characters are
 * replaced one for one before parsing, so offsets stay the same.
 */

/** Nested quotes and lists on one line. */
const MOST_CONTAINERS = 40;
/** Quote marks in the whole text. */
const MOST_QUOTES = 2_000;
/** Lines that could underline a heading. */
const MOST_UNDERLINES = 200;
/** Characters in one paragraph that could open or close emphasis, a link or an escape. */
const MOST_OPENERS = 300;
/** Openings of HTML comments and the like. */
const MOST_HTML = 500;
/** A shorter text can't reach a limit. */
const FEW = 2_000;

/** The parser looks for each length of backticks to the end of the paragraph. */
const LONG_TICKS = /`{17,}/g;

const CONTAINER = /[ \t]*(?:>|[-*+](?=[ \t])|\d{1,9}[.)](?=[ \t]))/y;
const UNDERLINE = /^ {0,3}(?:=+|-+)[ \t]*$/;
const FENCE = /^[ \t>]*(`{3,}|~{3,})/;
/** An underscore inside a word is not markup. */
const OPENER = /[*~[\]\\]|(?<!\w)_|_(?!\w)/g;
/** The line begins a paragraph, or is a row of a table. */
const OWN_PARAGRAPH = /^\s*(?:$|[>|#]|[-*+][ \t]|\d{1,9}[.)][ \t])|\|/;

const HTML = /<(?=!--|\?|!\[CDATA\[|![A-Za-z])/g;

export function tameMarkdown(text: string): string {
  if (text.length < FEW) return text;
  let html = 0;
  let quotes = 0;
  let underlines = 0;
  let openers = 0;
  const tamed = (line: string): string => {
    const few = withFewContainers(line);
    const signs = /^[ \t>]*>/.exec(few)?.[0] ?? '';
    quotes += signs.replaceAll(/[^>]/g, '').length;
    return quotes > MOST_QUOTES ? signs.replaceAll('>', '.') + few.slice(signs.length) : few;
  };
  let fence: string | null = null;
  return text
    .replaceAll(HTML, (character) => {
      html += 1;
      return html > MOST_HTML ? '.' : character;
    })
    .split('\n')
    .map((given) => {
      const mark = FENCE.exec(given)?.[1];
      if (fence !== null) {
        if (mark !== undefined && mark.startsWith(fence)) fence = null;
        return tamed(given);
      }
      if (mark !== undefined) {
        fence = mark;
        return tamed(given);
      }
      let line = tamed(given).replaceAll(LONG_TICKS, (ticks) => '.'.repeat(ticks.length));
      if (UNDERLINE.test(line)) {
        underlines += 1;
        if (underlines > MOST_UNDERLINES) line = line.replaceAll(/[=-]/g, '.');
      }
      if (OWN_PARAGRAPH.test(line)) openers = 0;
      return line.replaceAll(OPENER, (character) => {
        openers += 1;
        return openers > MOST_OPENERS ? '.' : character;
      });
    })
    .join('\n');
}

function withFewContainers(line: string): string {
  CONTAINER.lastIndex = 0;
  for (let count = 0; count < MOST_CONTAINERS; count++) if (!CONTAINER.test(line)) return line;
  const from = CONTAINER.lastIndex;
  let to = from;
  while (CONTAINER.test(line)) to = CONTAINER.lastIndex;
  return `${line.slice(0, from)}${line.slice(from, to).replaceAll(/\S/g, '.')}${line.slice(to)}`;
}
