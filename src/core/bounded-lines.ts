const MOST_LINES = 20_000;
const MOST_CHARS = 4 * 1024 * 1024;

/** Passes lines on until there are more than anybody reads; then says so once. */
export function boundedLines(pass: (line: string) => void): (line: string) => void {
  let lines = 0;
  let chars = 0;
  let isCut = false;
  return (line) => {
    if (isCut) return;
    lines += 1;
    chars += line.length;
    isCut = lines > MOST_LINES || chars > MOST_CHARS;
    pass(isCut ? '… there is more output than is kept' : line);
  };
}
