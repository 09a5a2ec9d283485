import { stripVTControlCharacters } from 'node:util';
import { loadMessage } from '../message.ts';
import type { Report, RunOutput } from '../runner.ts';
import type { PathInWorktree } from '../worktree-path.ts';

export interface TypeScriptError {
  file: string;
  code: number;
  /** With the lines that go on with it. */
  text: string;
}

/** `src/a.ts(3,5): error TS2307: …`, or for a terminal `src/a.ts:3:5 - error TS2307: …`. */
const ERROR = /^\s*(\S.*?)(?:\((\d+),\d+\):|:(\d+):\d+ -) error TS(\d+): (.*)$/;

export function typescriptErrors(output: string): TypeScriptError[] {
  const found: TypeScriptError[] = [];
  for (const line of stripVTControlCharacters(output).split(/\r?\n/)) {
    const [, file, , , code, text] = ERROR.exec(line) ?? [];
    const last = found.at(-1);
    if (file !== undefined) found.push({ file, code: Number(code), text: line.trim() });
    else if (last !== undefined && text === undefined && /^\s+\S/.test(line)) last.text += `\n${line}`;
  }
  return found;
}

/**
 * For a script that compiles first: without a report, what the compiler said about each file. Null where it said nothing,
 * so that something else is the reason.
 */
export function typescriptFailures(output: RunOutput, pathInWorktree: PathInWorktree): Report | null {
  const byFile = Map.groupBy(typescriptErrors(`${output.stdout}\n${output.stderr}`), ({ file }) => file);
  if (byFile.size === 0) return null;
  const loadFailures = [...byFile].map(([file, errors]) => ({
    file: pathInWorktree(file),
    message: loadMessage(errors.map(({ text }) => text).join('\n')),
  }));
  return { cases: [], loadFailures, coverage: null };
}
