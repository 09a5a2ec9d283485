import { ELSEWHERE, ELSEWHERE_ALONE, edited, isAssignment, type ShellCommand, shellCommands } from './script.ts';

type Scripts = Readonly<Record<string, string>>;

/** Scripts that call each other in a circle end here. */
const MAX_DEPTH = 6;

/**
 * Puts the text of package.json's scripts in the place of `npm run x`, `pnpm x`, `yarn x` and the like, with what npm
 * runs before it (`prex`), so that the test runner inside becomes visible. What can't be followed stays as it is.
 */
export function withScriptsExpanded(script: string, scripts: Scripts, depth = 0): string {
  if (depth >= MAX_DEPTH) return script;
  const edits = shellCommands(script).flatMap((words) => {
    const several = severalScripts(words, scripts);
    if (several !== null) {
      const text = several
        .map((name) => `(${withScriptsExpanded(`npm run ${name}`, scripts, depth + 1)})`)
        .join(' && ');
      return [{ start: words[0]?.start ?? 0, end: words.at(-1)?.end ?? 0, text }];
    }
    const call = scriptCall(script, words, scripts);
    if (call === null) return [];
    const before = scripts[`pre${call.name}`];
    const body = `${scripts[call.name] ?? ''}${call.rest === '' ? '' : ` ${call.rest}`}`;
    if (call.wrapper !== '') {
      const inside = withScriptsExpanded(body, scripts, depth + 1);
      // What stands around a script is not around each of its commands.
      if (before !== undefined || shellCommands(inside).length > 1) return [];
      return [{ start: words[0]?.start ?? 0, end: words.at(-1)?.end ?? 0, text: `${call.wrapper}${inside}` }];
    }
    const text = [
      ...call.settings.map((setting) => `export ${setting}; `),
      before === undefined ? '' : `(${withScriptsExpanded(before, scripts, depth + 1)}) && `,
      withScriptsExpanded(body, scripts, depth + 1),
    ].join('');
    const start = words[0]?.start ?? 0;
    const end = words.at(-1)?.end ?? start;
    const isAlone = (start === 0 && end === script.length) || shellCommands(text).length <= 1;
    return [{ start, end, text: isAlone ? text : `(${text})` }];
  });
  return edited(script, edits);
}

/**
 * Of npm-run-all, or by a pattern of pnpm: all are run one after another, as the reports of two at once could not be told
 * apart.
 */
function severalScripts([program, ...words]: ShellCommand, scripts: Scripts): string[] | null {
  const given = words.map(({ text }) => text).filter((text) => !text.startsWith('-'));
  const [, pattern] = /^(?:run )?\/(.+)\/$/.exec(given.join(' ')) ?? [];
  const isPattern = program?.text === 'pnpm' && pattern !== undefined;
  if (!isPattern && !/^(?:run-[sp]|npm-run-all2?)$/.test(program?.text ?? '')) return null;
  const names = isPattern
    ? Object.keys(scripts).filter((name) => isMatch(pattern, name))
    : given.flatMap((text) => matching(text));
  return names.length > 0 && names.every((name) => Object.hasOwn(scripts, name)) ? names : null;

  /** `*` stands for one part of a name, `**` for several. */
  function matching(pattern: string): string[] {
    if (!pattern.includes('*')) return [pattern];
    const source = pattern
      .replace(/[.+?^${}()|[\]\\]/g, '\\$&')
      .replace(/\*\*?/g, (star) => (star === '*' ? '[^:]*' : '.*'));
    return Object.keys(scripts).filter((name) => new RegExp(`^${source}$`).test(name));
  }
}

/** What a person wrote need not be a pattern. */
function isMatch(pattern: string, text: string): boolean {
  try {
    return new RegExp(pattern).test(text);
  } catch {
    return false;
  }
}

interface ScriptCall {
  name: string;
  /** Variables that are set for it, as written. */
  settings: string[];
  /** What measures coverage around it, as written: `c8 --100 `; mostly empty. */
  wrapper: string;
  /** Further arguments, as written. */
  rest: string;
}

const MANAGERS = new Set(['npm', 'pnpm', 'yarn', 'bun']);
const COVERAGE = /^(?:c8|nyc)$/;
const RUN = new Set(['run', 'run-script']);
const QUIET = new Set(['-s', '--silent', '--quiet']);

function scriptCall(script: string, words: ShellCommand, scripts: Scripts): ScriptCall | null {
  const begin = words.findIndex((word) => !isAssignment(word.text) && !/^cross-env(-shell)?$/.test(word.text));
  const isWrapped = COVERAGE.test(words[begin]?.text ?? '');
  const first = isWrapped ? words.findIndex(({ text }, at) => at > begin && MANAGERS.has(text)) : begin;
  const manager = words[first]?.text ?? '';
  if (first < 0 || !MANAGERS.has(manager)) return null;
  const settings = words.slice(0, begin).filter((word) => isAssignment(word.text));
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
  // Without `run`, npm knows only `test` by its name, and bun's own test runner has that name.
  const isKnown = isRun || (manager === 'npm' ? name === 'test' : manager !== 'bun');
  if (!isKnown || !Object.hasOwn(scripts, name)) return null;
  at += 1;
  // Options in front of `--` are npm's own; those that mean other packages lead out of this one's scripts.
  const dashes = words.findIndex(({ text }, index) => index >= at && text === '--');
  const own = words.slice(at, dashes < 0 ? undefined : dashes).filter(({ text }) => text.startsWith('-'));
  if (manager === 'npm' && own.some(({ text }) => ELSEWHERE.test(text) || ELSEWHERE_ALONE.test(text))) return null;
  if (dashes === at || (manager === 'npm' && own.length > 0)) at = dashes < 0 ? words.length : dashes + 1;
  const last = words.at(-1);
  const next = words[at];
  return {
    name,
    settings: settings.map((word) => script.slice(word.start, word.end)),
    wrapper: isWrapped ? script.slice(words[0]?.start, words[first]?.start) : '',
    rest: next === undefined || last === undefined ? '' : script.slice(next.start, last.end),
  };
}
