import type { Code } from 'mdast';
import { lineOf } from '../../markdown.ts';

const ENDLESS =
  /\bwhile\s*\(\s*(?:true|1|!0)\s*\)|\bwhile\s+(?:True|true|TRUE|1)\b|\bfor\s*\(\s*;\s*;\s*\)|\bloop\s+forever\b|\bloop\s+do\b|\buntil\s+false\b/gi;
const GO = /\bfor\s*\{/g;
const RUST = /(?<![\w.])loop\s*\{/g;
const LEAVES = /\b(?:break|return|raise|throw|exit|goto|yield|panic!?|die|abort|sys\.exit|process\.exit|stop|leave)\b/i;

/** The lines with a loop that has no condition and that nothing in its body leaves. */
export function endlessLoops(code: Code): { line: number; text: string }[] {
  const source = withoutComments(code.value);
  const patterns = [
    ENDLESS,
    ...(code.lang === 'go' ? [GO] : []),
    ...(/^(?:rust|rs)$/.test(code.lang ?? '') ? [RUST] : []),
  ];
  return patterns
    .flatMap((pattern) => [...source.matchAll(pattern)])
    .filter((match) => !LEAVES.test(bodyOf(source, match.index, match.index + match[0].length)))
    .map((match) => ({ line: lineOf(code) + source.slice(0, match.index).split('\n').length, text: match[0] }));
}

/** Comments and strings blanked out; offsets stay. */
function withoutComments(source: string): string {
  return source.replace(
    /\/\*[\s\S]*?\*\/|\/\/[^\n]*|(?<=^|\s)#[^\n]*|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'/gm,
    (found) => found.replace(/[^\n]/g, ' '),
  );
}

/** The body in braces when it has one, else the lines that are indented deeper, with the rest of the loop's own line. */
function bodyOf(source: string, start: number, end: number): string {
  const rest = source.slice(end);
  const brace = /^[^\n{]*\n?\s*\{/.exec(source.slice(end - 1, end) === '{' ? `{${rest}` : rest);
  if (brace) return bracedBody(rest);
  const lineStart = source.lastIndexOf('\n', start) + 1;
  const indent = /^\s*/.exec(source.slice(lineStart))?.[0].length ?? 0;
  const [own = '', ...lines] = rest.split('\n');
  const body: string[] = [];
  for (const line of lines) {
    const isDeeper = (/^\s*/.exec(line)?.[0].length ?? 0) > indent;
    if (line.trim() !== '' && !isDeeper) break;
    body.push(line);
  }
  return [own, ...body].join('\n');
}

function bracedBody(rest: string): string {
  let depth = 0;
  for (let at = 0; at < rest.length; at++) {
    if (rest.charAt(at) === '{') depth++;
    else if (rest.charAt(at) === '}' && --depth <= 0) return rest.slice(0, at);
  }
  return rest;
}
