/** A line of three or more backticks or tildes. */
export interface Fence {
  line: number;
  char: string;
  length: number;
  indent: number;
  info: string;
}

/** The fence on a line, opening or closing. Any indentation counts: lists hold fences too. */
export function fenceAt(line: string, index: number): Fence | null {
  const match = /^(\s*)(`{3,}|~{3,})\s*(.*?)\s*$/.exec(line);
  const marks = match?.[2];
  if (match === null || marks === undefined) return null;
  const info = match[3] ?? '';
  const char = marks.charAt(0);
  if (char === '`' && info.includes('`')) return null;
  return { line: index, char, length: marks.length, indent: match[1]?.length ?? 0, info };
}

export function closes(fence: Fence, opening: Fence): boolean {
  return fence.info === '' && fence.char === opening.char && fence.length >= opening.length;
}

/** The fence that is still open where this line begins. */
export function openFenceAt(lines: string[], line: number): Fence | null {
  let open: Fence | null = null;
  for (let index = 0; index < line; index++) {
    const fence = fenceAt(lines[index] ?? '', index);
    if (!fence) continue;
    if (!open) open = fence;
    else if (closes(fence, open)) open = null;
  }
  return open;
}
