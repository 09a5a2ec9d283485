import { createTwoFilesPatch } from 'diff';

/** What git says about one file of a change. */
interface FileDiff {
  path: string;
  text: string;
}

/** Above it a comparison would take long and show little: the file was rewritten. */
const MOST_EDITS = 2_000;
/** Less than this of a file is not worth showing. */
const LEAST_PART = 2_000;

/**
 * The change as a reviewer is shown it. Files that don't fit into `most` characters are left out, later ones that do fit
 * are not; the first that doesn't is shown as far as there is room. What is missing is named.
 */
export function boundedDiff(diff: string, most: number): string {
  if (diff.trim() === '') return 'Nothing was changed.';
  if (diff.length <= most) return diff;
  let room = most;
  let cut: string | null = null;
  const shown: string[] = [];
  const leftOut: string[] = [];
  const files = filesOf(diff);
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

/** What is different from the last round, file by file: where lines stand and git's names for contents don't count. */
export function changesBetween(before: string, after: string, most: number): string {
  const earlier = new Map(filesOf(before).map(({ path, text }) => [path, comparable(text)]));
  const now = new Map(filesOf(after).map(({ path, text }) => [path, comparable(text)]));
  const same = [...now.keys()].filter((path) => earlier.get(path) === now.get(path));
  const paths = [...new Set([...earlier.keys(), ...now.keys()])].filter((path) => !same.includes(path));
  if (paths.length === 0) return 'None: the change is the same as in the last round.';
  const patches = paths.map((path) => {
    const [old, current] = [earlier.get(path), now.get(path)];
    if (old === undefined) return `diff --git ${path}\nis new since the last round: see the whole change.\n`;
    if (current === undefined) return `diff --git ${path}\nis as it was before the change again.\n`;
    const patch = createTwoFilesPatch(`last round: ${path}`, `now: ${path}`, old, current, undefined, undefined, {
      maxEditLength: MOST_EDITS,
    });
    return patch === undefined
      ? `diff --git ${path}\nwas rewritten: see the whole change.\n`
      : `diff --git ${path}\n${patch}`;
  });
  const unchanged = same.length === 0 ? '' : `The same as in the last round: ${same.join(', ')}\n\n`;
  return `${unchanged}${boundedDiff(patches.join(''), most)}`;
}

/** In a diff only a header begins with these words at the very beginning of a line. */
function filesOf(diff: string): FileDiff[] {
  return diff
    .split(/^(?=diff --git )/m)
    .filter((text) => text.trim() !== '')
    .map((text) => ({ path: pathOf(text), text }));
}

function pathOf(text: string): string {
  const head = text.slice(0, Math.max(0, text.search(/^@@ /m)) || text.length);
  const named =
    /^\+\+\+ "?b\/(.*?)"?\t?$/m.exec(head)?.[1] ??
    /^--- "?a\/(.*?)"?\t?$/m.exec(head)?.[1] ??
    /^rename to "?(.*?)"?$/m.exec(head)?.[1];
  if (named !== undefined) return named;
  // Without a change of lines (a mode, something binary) both halves of the first line are the same path.
  const first = /^diff --git (.*)$/m.exec(head)?.[1] ?? '';
  return /^"?a\/(.*?)"? "?b\/\1"?$/.exec(first)?.[1] ?? first;
}

function comparable(text: string): string {
  return text.replace(/^index [0-9a-f]+\.\.[0-9a-f]+.*\n/m, '').replace(/^@@ -[\d,]+ \+[\d,]+ @@/gm, '@@');
}
