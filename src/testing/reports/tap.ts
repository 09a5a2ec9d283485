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
const INDENT = ' '.repeat(4);
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
  if (isEmpty(top)) return null;
  const reading: Reading = { cases: [], loadFailures: [] };
  flatten(top, { names: [], file: null }, fileNamed, reading);
  return reading;
}

function isEmpty({ points, planned, bail }: Level): boolean {
  return points.length === 0 && planned === null && bail === null;
}

const HEADING = /^# (?!Subtest\b|tests +\d|pass +\d|fail +\d|ok$)(.+)$/;

function readLevel(lines: readonly string[], hasHeadings = false, depth = 0): Level {
  const level: Level = { title: '', points: [], planned: null, bail: null };
  /** A subtest whose own test point has not been read yet. */
  let pending: Level | null = null;
  let title = '';
  let heading = '';
  let said: string[] = [];
  const add = (point: Partial<Point> & Pick<Point, 'ok' | 'name'>): void => {
    level.points.push({ excused: false, said: said.join('\n'), diagnostics: '', inner: pending, ...point });
    pending = null;
    said = [];
  };
  const addUnfinished = (): void => {
    if (pending !== null) add({ ok: false, name: pending.title, diagnostics: 'The subtest did not finish.' });
  };
  for (let at = 0; at < lines.length; at += 1) {
    const line = lines[at] ?? '';
    const last = level.points.at(-1);
    if (depth < DEEPEST && line.startsWith(INDENT)) {
      const start = at;
      while (at + 1 < lines.length && /^(?: {4}|\s*$)/.test(lines[at + 1] ?? '')) at += 1;
      const inner = readLevel(
        lines.slice(start, at + 1).map((one) => one.slice(INDENT.length)),
        false,
        depth + 1,
      );
      if (last?.name.endsWith(' {')) {
        last.name = last.name.slice(0, -2);
        last.inner = inner;
      } else if (!isEmpty(inner)) {
        addUnfinished();
        pending = { ...inner, title: inner.title === '' ? title : inner.title };
      }
      continue;
    }
    if (/^ {2}---(\s|$)/.test(line)) {
      const end = lines.indexOf('  ...', at);
      const block = lines.slice(at + 1, end < 0 ? lines.length : end);
      if (last !== undefined) last.diagnostics = block.map((one) => one.replace(/^ {2}/, '')).join('\n');
      at += block.length + 1;
      continue;
    }
    const subtest = /^# Subtest(?:: ?(.*))?$/.exec(line);
    if (subtest !== null) {
      title = subtest[1] ?? '';
      if (last === undefined && pending === null) level.title = title;
    } else if (line.startsWith('# ')) said.push(line.slice(2));
    if (hasHeadings) heading = HEADING.exec(line)?.[1]?.trim() ?? heading;
    level.bail = /^Bail out!\s*(.*)$/.exec(line)?.[1] ?? level.bail;
    const [, planned] = /^1\.\.(\d+)/.exec(line) ?? [];
    if (planned !== undefined) level.planned = Number(planned);
    const [isPoint, not, given = ''] = POINT.exec(line) ?? [];
    if (isPoint === undefined) continue;
    const described = given.replace(TIME, '');
    const own = described
      .replace(DIRECTIVE, '')
      .replace(/\\([\\#])/g, '$1')
      .trim();
    const name = heading === '' ? own : `${heading} > ${own}`;
    add({ ok: not === undefined, name: name || (pending?.title ?? ''), excused: DIRECTIVE.test(described) });
  }
  addUnfinished();
  return level;
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
    const { ok, name, excused, said, diagnostics, inner } = point;
    const isOutermost = around.names.length === 0 && around.file === null;
    const own = isOutermost ? (fileNamed(name) ?? fileAtLocation(point, fileNamed)) : null;
    const names = own === null ? [...around.names, name] : around.names;
    const file = own ?? around.file;
    const before = failures(reading);
    if (inner !== null) flatten(inner, { names, file }, fileNamed, reading);
    const isExplained = ok || failures(reading) > before;
    if (inner !== null && isExplained && !excused) continue;
    if (own !== null && ok && !excused) continue;
    if (own !== null && !excused) reading.loadFailures.push({ file, message: loadMessage(`${said}\n${diagnostics}`) });
    else
      reading.cases.push({
        file,
        name: names.join(' > '),
        outcome: excused ? 'skipped' : ok ? 'passed' : 'failed',
        message: ok || excused ? null : caseMessage(diagnostics),
      });
  }
  const { file } = around;
  const { points, planned, bail } = level;
  const why =
    bail !== null
      ? `Bail out! ${bail}`
      : planned !== null && planned !== points.length
        ? `The plan has ${planned} tests, but ${points.length} were reported.`
        : null;
  if (why !== null) reading.loadFailures.push({ file, message: loadMessage(why) });
}

/** The file in a point's location: if the tool ran in another folder, the point's name is not a path from the worktree. */
function fileAtLocation({ name, diagnostics }: Point, fileNamed: (name: string) => string | null): string | null {
  const path = /^location: '?(.+?)(?::\d+){1,2}'?$/m.exec(diagnostics)?.[1];
  return path?.endsWith(`/${name.replace(/^\.\//, '')}`) === true ? fileNamed(path) : null;
}

function failures(reading: Reading): number {
  return reading.loadFailures.length + reading.cases.filter((test) => test.outcome === 'failed').length;
}
