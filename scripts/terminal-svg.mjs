// Frames of a terminal with colours (as `tmux capture-pane -e` prints them) as one SVG that plays them in real time, over
// and over. Who wants no motion, and what can't animate, sees one frame.

const CELL = { width: 8.4, height: 18 };
const FONT_SIZE = 14;
const PADDING = 14;
/** How long the last frame stays before it starts again. */
const REST_MS = 6_000;
const NORMAL = 'd0d7de';
const BACKGROUND = '0d1117';
const COLOURS = ['6e7681', 'ff7b72', '7ee787', 'e3b341', '79c0ff', 'd2a8ff', '76e3ea', 'd0d7de'];
/** A change of style, or text up to two spaces: renderers make one of them. */
const STYLE_OR_TEXT = /\u001b\[([\d;]*)m|( {2,}|(?:(?! {2})[^\u001b])+)/g;
const BRIGHT = ['8b949e', 'ffa198', 'aff5b4', 'f2cc60', 'a5d6ff', 'e2c5ff', 'b3f0ff', 'ffffff'];

export function svgOf(frames, { columns, rows }, title) {
  const width = Math.ceil(columns * CELL.width + 2 * PADDING);
  const height = rows * CELL.height + 2 * PADDING;
  const startMs = frames[0].atMs;
  const totalMs = frames.at(-1).atMs - startMs + REST_MS;
  const percent = (frame) => (((frame?.atMs ?? startMs + totalMs) - startMs) / totalMs) * 100;

  const lines = new Map();
  const idOf = (line) => {
    if (!lines.has(line)) lines.set(line, `l${lines.size}`);
    return lines.get(line);
  };
  const still = stillOf(frames);
  const groups = [];
  const rules = [];
  frames.forEach((frame, index) => {
    const uses = linesOf(frame.screen).map((spans, row) =>
      spans.length === 0 ? '' : `<use href="#${idOf(lineOf(spans))}" y="${row * CELL.height}"/>`,
    );
    groups.push(`<g id="f${index}" class="${frame === still ? 'f still' : 'f'}">${uses.join('')}</g>`);
    const [from, to] = [percent(frame), percent(frames[index + 1])].map((at) => Number(at.toFixed(2)));
    const before = from === 0 ? '' : '0%{visibility:hidden}';
    const after = to === 100 ? '' : `${to}%{visibility:hidden}`;
    rules.push(`@keyframes k${index}{${before}${from}%,${to - 0.001}%{visibility:visible}${after}}`);
    rules.push(`#f${index}{animation-name:k${index}}`);
  });
  const definitions = [...lines].map(([line, id]) => `<g id="${id}">${line}</g>`);
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-label="A terminal: ${escape(title)}">
<style>
text{font:${FONT_SIZE}px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:#${NORMAL};white-space:pre}
.b{font-weight:bold}.d{opacity:.6}
${COLOURS.map((colour, index) => `.c${index}{fill:#${colour}}`).join('')}
${BRIGHT.map((colour, index) => `.h${index}{fill:#${colour}}`).join('')}
.f{visibility:hidden}.still{visibility:visible}
@media (prefers-reduced-motion:no-preference){
.f{animation-duration:${Math.round(totalMs)}ms;animation-timing-function:step-end;animation-iteration-count:infinite;visibility:hidden}
${rules.join('\n')}
}
</style>
<rect width="${width}" height="${height}" rx="8" fill="#${BACKGROUND}"/>
<defs>
${definitions.join('\n')}
</defs>
<g transform="translate(${PADDING} ${PADDING + FONT_SIZE})">
${groups.join('\n')}
</g>
</svg>
`;
}

/** The last one with the live region. */
function stillOf(frames) {
  return frames.findLast(({ screen }) => /[━─]{10}/.test(screen)) ?? frames.at(-1);
}

/** Lines with their runs of one style. Styles last over the ends of lines, until something else is said. */
function linesOf(screen) {
  let style = { colour: '', bold: false, dim: false };
  return screen.split('\n').map((line) => {
    const spans = [];
    let column = 0;
    for (const [, codes, text] of line.matchAll(STYLE_OR_TEXT)) {
      if (codes !== undefined) for (const code of codes.split(';').map(Number)) style = styled(style, code);
      else {
        if (text.trim() !== '') spans.push({ text, column, style });
        column += [...text].length;
      }
    }
    return spans;
  });
}

function styled(style, code) {
  if (code === 0) return { colour: '', bold: false, dim: false };
  if (code === 1) return { ...style, bold: true };
  if (code === 2) return { ...style, dim: true };
  if (code === 22) return { ...style, bold: false, dim: false };
  if (code === 39) return { ...style, colour: '' };
  if (code >= 30 && code <= 37) return { ...style, colour: `c${code - 30}` };
  if (code >= 90 && code <= 97) return { ...style, colour: `h${code - 90}` };
  return style;
}

/** Every run has its place and length: a font of another width changes neither. */
function lineOf(spans) {
  return spans
    .map(({ text, column, style }) => {
      const names = [style.colour, style.bold ? 'b' : '', style.dim ? 'd' : ''].filter(Boolean).join(' ');
      const shown = text.trim();
      const x = ((column + text.indexOf(shown)) * CELL.width).toFixed(1);
      const length = ([...shown].length * CELL.width).toFixed(1);
      return `<text${names === '' ? '' : ` class="${names}"`} x="${x}" textLength="${length}" lengthAdjust="spacingAndGlyphs">${escape(shown)}</text>`;
    })
    .join('');
}

function escape(text) {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}
