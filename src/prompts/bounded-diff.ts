/** A shorter part of a file is not shown. */
const LEAST_PART = 2_000;

/**
 * A diff for a reviewer, in at most about `most` characters. Files that don't fit are left out, also if later ones fit; the
 * first of them is shown in part if there is room. What is missing is named.
 */
export function boundedDiff(diff: string, most: number): string {
  if (diff.trim() === '') return 'Nothing was changed.';
  if (diff.length <= most) return diff;
  let room = most;
  let cut: string | null = null;
  const shown: string[] = [];
  const leftOut: string[] = [];
  // Only the header of a file starts a line with these words.
  const files = diff.split(/^(?=diff --git )/m).map((text) => ({
    path: /^diff --git "?a\/(.*?)"? "?b\//.exec(text)?.[1] ?? 'the beginning',
    text,
  }));
  const whole = new Set(
    files.filter(({ text }) => {
      const fits = text.length <= room;
      if (fits) room -= text.length;
      return fits;
    }),
  );
  for (const file of files) {
    if (whole.has(file)) {
      shown.push(file.text);
    } else if (cut === null && room >= LEAST_PART) {
      cut = file.path;
      shown.push(
        `${file.text.slice(0, file.text.lastIndexOf('\n', room) + 1)}[the rest of ${file.path} is left out]\n`,
      );
    } else {
      leftOut.push(file.path);
    }
  }
  const notes = [
    ...(cut === null ? [] : [`Shown in part: ${cut}`]),
    ...(leftOut.length === 0 ? [] : [`Left out: ${leftOut.join(', ')}`]),
  ];
  return `${shown.join('')}\n[The change has ${diff.length} characters, at most ${most} are shown. ${notes.join('. ')}.]`;
}
