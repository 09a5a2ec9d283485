import { ELSEWHERE, ELSEWHERE_ALONE, edited, isAssignment, type ShellCommand, shellCommands } from './script.ts';

type Scripts = Readonly<Record<string, string>>;

/** Bounds scripts that call each other in a cycle. */
const MAX_DEPTH = 6;
/** Bounds scripts that call each other many times: each level would multiply the text. */
const MOST_CHARS = 50_000;

/**
 * Replaces `npm run x`, `pnpm x`, `yarn x` and the like by the script's text, with its `prex` script in front, so that the
 * test runner inside becomes visible. Anything that can't be resolved stays unchanged.
 */
export function withScriptsExpanded(command: string, scripts: Scripts): string {
  /** The length of all scripts that were read so far. */
  let chars = 0;
  return expanded(command, 0);

  function expanded(script: string, depth: number): string {
    chars += script.length;
    if (depth >= MAX_DEPTH || chars > MOST_CHARS) return script;
    const edits = shellCommands(script).flatMap((words) => {
      const text = replacement(script, words, depth + 1);
      const [start, end] = [words[0]?.start ?? 0, words.at(-1)?.end ?? 0];
      return text === null ? [] : [{ start, end, text }];
    });
    return edited(script, edits);
  }

  /** Null: the command starts no script that is known. */
  function replacement(script: string, words: ShellCommand, depth: number): string | null {
    const settings = exported(script, words);
    const several = severalScripts(words.slice(programAt(words)), scripts);
    if (several !== null)
      return settings + several.map((name) => `(${expanded(`npm run ${name}`, depth)})`).join(' && ');
    const call = scriptCall(script, words, scripts);
    if (call === null) return null;
    const { name, wrapper, rest } = call;
    const before = scripts[`pre${name}`];
    const inside = expanded(`${scripts[name] ?? ''}${rest === '' ? '' : ` ${rest}`}`, depth);
    // The wrapper covers the whole script; it can't be put in front of one of several commands.
    if (wrapper !== '' && shellCommands(inside).length > 1) return null;
    const first = before === undefined ? '' : `(${expanded(before, depth)}) && `;
    const text = [settings, first, wrapper, inside].join('');
    const isWhole = words[0]?.start === 0 && words.at(-1)?.end === script.length;
    return isWhole || shellCommands(text).length <= 1 ? text : `(${text})`;
  }
}

/** Where the program is, after the assignments in front of it. */
function programAt(words: ShellCommand): number {
  return words.findIndex((word) => !isAssignment(word.text) && !/^cross-env(-shell)?$/.test(word.text));
}

/** The assignments in front of a call, for every command that it becomes. */
function exported(script: string, words: ShellCommand): string {
  const settings = words.slice(0, Math.max(programAt(words), 0)).filter(({ text }) => isAssignment(text));
  return settings.map(({ start, end }) => `export ${script.slice(start, end)}; `).join('');
}

/**
 * The scripts that npm-run-all or a pnpm pattern starts. They run in sequence, because the reports of two parallel runs
 * could not be told apart.
 */
function severalScripts([program, ...words]: ShellCommand, scripts: Scripts): string[] | null {
  const given = words.map(({ text }) => text).filter((text) => !text.startsWith('-'));
  const [, pattern] = /^(?:run )?\/(.+)\/$/.exec(given.join(' ')) ?? [];
  const isPattern = program?.text === 'pnpm' && pattern !== undefined;
  // `run -p lint test:unit` is the one of @trigen/scripts.
  if (!isPattern && !/^(?:run(?:-[sp])?|npm-run-all2?)$/.test(program?.text ?? '')) return null;
  const names = isPattern ? namesMatching(pattern, scripts) : given.flatMap((text) => matching(text));
  return names.length > 0 && names.every((name) => Object.hasOwn(scripts, name)) ? names : null;

  /** `*` matches one part of a name, `**` several. */
  function matching(pattern: string): string[] {
    if (!pattern.includes('*')) return [pattern];
    const source = pattern
      .replace(/[.+?^${}()|[\]\\]/g, '\\$&')
      .replace(/\*+/g, (stars) => (stars === '*' ? '[^:]*' : '.*'));
    return namesMatching(`^${source}$`, scripts);
  }
}

const MOST_NAMES = 1_000;
const LONGEST_NAME = 100;

/** None for text that isn't a valid pattern, and for one that could take very long. */
function namesMatching(pattern: string, scripts: Scripts): string[] {
  const repetitions = pattern.replace(/\\./g, '').match(/[*+?{]/g) ?? [];
  if (repetitions.length > 2 || /\)[*+?{]/.test(pattern)) return [];
  try {
    const form = new RegExp(pattern);
    const names = Object.keys(scripts).slice(0, MOST_NAMES);
    return names.filter((name) => name.length <= LONGEST_NAME && form.test(name));
  } catch {
    return [];
  }
}

const MANAGERS = new Set(['npm', 'pnpm', 'yarn', 'bun']);
const COVERAGE = /^(?:c8|nyc)$/;
const RUN = new Set(['run', 'run-script']);
const QUIET = new Set(['-s', '--silent', '--quiet']);

/**
 * The script that a package manager runs, with further arguments as written. `wrapper`: a coverage tool in front of it, as written
 * (`c8 --100 `); mostly empty.
 */
function scriptCall(script: string, words: ShellCommand, scripts: Scripts) {
  const begin = programAt(words);
  const isWrapped = COVERAGE.test(words[begin]?.text ?? '');
  const first = isWrapped ? words.findIndex(({ text }, at) => at > begin && MANAGERS.has(text)) : begin;
  const manager = words[first]?.text ?? '';
  if (first < 0 || !MANAGERS.has(manager)) return null;
  let at = first + 1;
  const skipQuiet = (): void => {
    while (QUIET.has(words[at]?.text ?? '')) at += 1;
  };
  skipQuiet();
  const isRun = RUN.has(words[at]?.text ?? '');
  if (isRun) at += 1;
  skipQuiet();
  const asked = words[at]?.text ?? '';
  const name = asked === 't' && !isRun ? 'test' : asked;
  // Without `run`, npm accepts only `test`; `bun test` is bun's own runner, not a script.
  const isKnown = isRun || (manager === 'npm' ? name === 'test' : manager !== 'bun');
  if (!isKnown || !Object.hasOwn(scripts, name)) return null;
  at += 1;
  // Options before `--` belong to npm; those that select another package mean that package's script.
  const dashes = words.findIndex(({ text }, index) => index >= at && text === '--');
  const own = words.slice(at, dashes < 0 ? undefined : dashes).filter(({ text }) => text.startsWith('-'));
  if (manager === 'npm' && own.some(({ text }) => ELSEWHERE.test(text) || ELSEWHERE_ALONE.test(text))) return null;
  if (dashes === at || (manager === 'npm' && own.length > 0)) at = dashes < 0 ? words.length : dashes + 1;
  const last = words.at(-1);
  const next = words[at];
  return {
    name,
    wrapper: isWrapped ? script.slice(words[begin]?.start, words[first]?.start) : '',
    rest: next === undefined || last === undefined ? '' : script.slice(next.start, last.end),
  };
}
