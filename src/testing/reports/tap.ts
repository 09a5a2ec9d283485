import { caseMessage, loadMessage, type Reading } from './report.ts';

/** A test point, or a whole subtest. */
interface Point {
  ok: boolean;
  name: string;
  /** Marked SKIP or TODO. */
  excused: boolean;
  /** The comments before it: what was printed meanwhile. */
  said: string;
  diagnostics: string;
  inner: Level | null;
}

interface Level {
  title: string;
  points: Point[];
  planned: number | null;
  /** The reason of a `Bail out!`. */
  bail: string | null;
}

const POINT = /^(not )?ok\b(?: +\d+)?(?: +- +| +|$)(.*)$/;
const DIRECTIVE = /\s*(?<!\\)#\s*(skip|todo)\b.*$/i;
/** node-tap appends the duration to the name. */
const TIME = /\s+#\s*time=[\d.]+\s*m?s\b.*$/;
const INDENT = 4;
/** Nesting of subtests; anything deeper is treated as text. */
const DEEPEST = 50;

/**
 * Reads TAP 13 and 14. A subtest is a suite: only the points inside it are cases, unless it fails although all of them
 * pass. Some tools wrap the tests of a file in a subtest named after the file, which `fileNamed` recognises.
 * `hasHeadings`: a comment names the test for the points that follow, as in tape. Null: no plan and no point.
 */
export function parseTap(
  text: string,
  fileNamed: (name: string) => string | null,
  hasHeadings = false,
): Reading | null {
  const top = readLevel(text.split(/\r?\n/), hasHeadings);
  if (top.points.length === 0 && top.planned === null && top.bail === null) return null;
  const reading: Reading = { cases: [], loadFailures: [] };
  flatten(top, { names: [], file: null }, fileNamed, reading);
  return reading;
}

const HEADING = /^# (?!Subtest\b|tests +\d|pass +\d|fail +\d|ok$)(.+)$/;

function readLevel(lines: readonly string[], hasHeadings = false, depth = 0): Level {
  const level: Level = { title: '', points: [], planned: null, bail: null };
  /** A subtest whose own test point has not been read yet. */
  let pending: Level | null = null;
  let title = '';
  let heading = '';
  let said: string[] = [];
  for (let at = 0; at < lines.length; at += 1) {
    const line = lines[at] ?? '';
    if (depth < DEEPEST && line.startsWith(' '.repeat(INDENT))) {
      const end = endOfBlock(lines, at);
      const indented = lines.slice(at, end).map((one) => one.slice(INDENT));
      const inner = readLevel(indented, false, depth + 1);
      at = end - 1;
      const owner = level.points.at(-1);
      if (owner?.name.endsWith(' {')) {
        owner.name = owner.name.slice(0, -2);
        owner.inner = inner;
      } else if (inner.points.length > 0 || inner.planned !== null || inner.bail !== null) {
        if (pending !== null) level.points.push(unfinished(pending));
        pending = { ...inner, title: inner.title === '' ? title : inner.title };
      }
      continue;
    }
    if (/^ {2}---(\s|$)/.test(line)) {
      const end = lines.indexOf('  ...', at);
      const last = level.points.at(-1);
      if (last !== undefined) last.diagnostics = dedented(lines.slice(at + 1, end < 0 ? lines.length : end));
      at = end < 0 ? lines.length : end;
      continue;
    }
    const subtest = /^# Subtest(?:: ?(.*))?$/.exec(line);
    if (subtest !== null) {
      title = subtest[1] ?? '';
      if (level.points.length === 0 && pending === null) level.title = title;
    } else if (line.startsWith('# ')) said.push(line.slice(2));
    if (hasHeadings) heading = HEADING.exec(line)?.[1]?.trim() ?? heading;
    const bail = /^Bail out!\s*(.*)$/.exec(line);
    if (bail !== null) level.bail = bail[1] ?? '';
    const plan = /^1\.\.(\d+)/.exec(line);
    if (plan !== null) level.planned = Number(plan[1]);
    const point = POINT.exec(line);
    if (point !== null) {
      const described = (point[2] ?? '').replace(TIME, '');
      const own = described
        .replace(DIRECTIVE, '')
        .replace(/\\([\\#])/g, '$1')
        .trim();
      const name = heading === '' ? own : `${heading} > ${own}`;
      level.points.push({
        ok: point[1] === undefined,
        name: name === '' && pending !== null ? pending.title : name,
        excused: DIRECTIVE.test(described),
        said: said.join('\n'),
        diagnostics: '',
        inner: pending,
      });
      pending = null;
      said = [];
    }
  }
  if (pending !== null) level.points.push(unfinished(pending));
  return level;
}

function endOfBlock(lines: readonly string[], start: number): number {
  let end = start;
  while (end < lines.length && (lines[end]?.startsWith(' '.repeat(INDENT)) || lines[end]?.trim() === '')) end += 1;
  return end;
}

function dedented(lines: readonly string[]): string {
  return lines.map((line) => line.replace(/^ {2}/, '')).join('\n');
}

function unfinished(inner: Level): Point {
  return { ok: false, name: inner.title, excused: false, said: '', diagnostics: 'The subtest did not finish.', inner };
}

interface Surroundings {
  names: readonly string[];
  file: string | null;
}

function flatten(
  level: Level,
  around: Surroundings,
  fileNamed: (name: string) => string | null,
  reading: Reading,
): void {
  for (const point of level.points) {
    const isOutermost = around.names.length === 0 && around.file === null;
    const file = isOutermost ? (fileNamed(point.name) ?? fileAtLocation(point, fileNamed)) : null;
    const inside = {
      names: file === null ? [...around.names, point.name] : around.names,
      file: file ?? around.file,
    };
    const before = failures(reading);
    if (point.inner !== null) flatten(point.inner, inside, fileNamed, reading);
    const isExplained = failures(reading) > before;
    if (point.inner !== null && (point.ok || isExplained) && !point.excused) continue;
    if (file !== null && point.ok && !point.excused) continue;
    if (file !== null && !point.ok && !point.excused)
      reading.loadFailures.push({ file, message: loadMessage(`${point.said}\n${point.diagnostics}`) });
    else
      reading.cases.push({
        file: inside.file,
        name: inside.names.join(' > '),
        outcome: point.excused ? 'skipped' : point.ok ? 'passed' : 'failed',
        message: point.ok || point.excused ? null : caseMessage(point.diagnostics),
      });
  }
  const { file } = around;
  if (level.bail !== null) reading.loadFailures.push({ file, message: loadMessage(`Bail out! ${level.bail}`) });
  else if (level.planned !== null && level.planned !== level.points.length) {
    const message = `The plan has ${level.planned} tests, but ${level.points.length} were reported.`;
    reading.loadFailures.push({ file, message });
  }
}

/** The file in a point's location: if the tool ran in another folder, the point's name is not a path from the worktree. */
function fileAtLocation({ name, diagnostics }: Point, fileNamed: (name: string) => string | null): string | null {
  const path = /^location: '?(.+?)(?::\d+){1,2}'?$/m.exec(diagnostics)?.[1];
  return path?.endsWith(`/${name.replace(/^\.\//, '')}`) === true ? fileNamed(path) : null;
}

function failures(reading: Reading): number {
  return reading.loadFailures.length + reading.cases.filter((test) => test.outcome === 'failed').length;
}
