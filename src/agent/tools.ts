import { z } from 'zod';
import { untilAborted } from '../core/clock.ts';
import { AgentosError, systemCode } from '../core/errors.ts';
import { parseJson, textOf } from '../core/json.ts';
import { detailOf } from '../core/reason.ts';
import type { Git } from '../git/git.ts';
import type { AnswerCall } from '../models/port.ts';
import type { VendorTool } from '../models/vendors.ts';
import type { Place } from './worktree.ts';

/**
 * A tool of a model. The same call on the same files has exactly the same result: a loop that was killed repeats its calls, and
 * finds the stored answers by the prompts that follow from them.
 */
export interface Tool<Schema extends z.ZodType = z.ZodType> {
  name: string;
  description: string;
  schema: Schema;
  /** It changes files, and is not aborted half way. */
  changes?: true;
  /** What it works on, for the log; absent: its path. */
  about?(input: z.output<Schema>): string;
  /** `note`: for the log. */
  run(input: z.output<Schema>): Promise<{ text: string; note?: string }>;
}

/** Types a tool by its schema. */
export function toolOf<Schema extends z.ZodType>(tool: Tool<Schema>): Tool<Schema> {
  return tool;
}

/** Why a tool can't do something: a result for the model. */
export class NotDone extends Error {}

export interface ToolResult {
  ok: boolean;
  text: string;
  line: string;
}

export function failed(line: string, why: string): ToolResult {
  return { ok: false, text: `Not done: ${why}.`, line: `${line}: ${why}` };
}

export interface ToolSet {
  /** For the vendors' packages; part of a step's inputs. */
  definitions: VendorTool[];
  /** A wrong call is a result for the model; only a timeout or a disk error is thrown. */
  run(call: Pick<AnswerCall, 'toolName' | 'input'>, signal: AbortSignal): Promise<ToolResult>;
}

/** `directory`: for the error of a folder that can't be used. */
export function createToolSet(tools: readonly Tool[], directory: string): ToolSet {
  return {
    definitions: tools.map(({ name, description, schema }) => {
      const { $schema: _, ...inputSchema } = z.toJSONSchema(schema, { io: 'input' });
      return { type: 'function', name, description, inputSchema: inputSchema as VendorTool['inputSchema'] };
    }),
    async run(call, signal) {
      signal.throwIfAborted();
      const tool = tools.find(({ name }) => name === call.toolName);
      if (tool === undefined) {
        const known = tools.map(({ name }) => name).join(', ');
        return failed(detailOf(call.toolName), `there is no such tool; there are ${known}`);
      }
      const args = argumentsOf(call.input);
      if (args === null) return failed(tool.name, 'the arguments are not a JSON object');
      // Models write null for an optional argument.
      const given = Object.fromEntries(Object.entries(args).filter(([, value]) => value !== null));
      const parsed = tool.schema.safeParse(given);
      if (!parsed.success) return failed(tool.name, detailOf(z.prettifyError(parsed.error)));
      const line = `${tool.name} ${tool.about?.(parsed.data) ?? textOf(given['path']) ?? '.'}`;
      try {
        const running = tool.run(parsed.data);
        const { text, note } = await (tool.changes ? running : untilAborted(signal, running));
        return { ok: true, text, line: note === undefined ? line : `${line} ${note}` };
      } catch (error) {
        if (error instanceof NotDone) return failed(line, error.message);
        const reason = systemCode(error);
        if (reason === null) throw error;
        throw new AgentosError({ code: 'worktree-unusable', path: directory, reason }, { cause: error });
      }
    },
  };
}

/** Null if the input is not a JSON object. */
export function argumentsOf(input: string): Record<string, unknown> | null {
  const value = parseJson(input.trim() === '' ? '{}' : input);
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : null;
}

/** The files of a worktree or a commit, without secrets. */
export interface ReadableFiles {
  /** In a stable order. */
  list(): Promise<string[]>;
  /** Resolves a path of the model; throws `NotDone` if the model must not go there. */
  locate(asked: string): Promise<Pick<Place, 'path' | 'kind'>>;
  /** With byte-order mark and line ends unchanged; throws `NotDone` if it is not text, or secret. */
  read(asked: string): Promise<{ path: string; text: string }>;
  /** The lines that match, by path and number. */
  search(search: LineSearch): Promise<FoundLines>;
}

export interface LineSearch {
  text: string;
  /** POSIX extended; otherwise the text is literal. */
  isRegex: boolean;
  ignoreCase: boolean;
  /** A file or folder, as `locate` returned it. */
  path: string;
}

export interface FoundLines {
  lines: { path: string; line: number; text: string }[];
  /** There is more. */
  cut: boolean;
}

const MOST_CHARS = 24_000;

const MOST_LISTED = 400;
export const list = (files: ReadableFiles) =>
  toolOf({
    name: 'list',
    description:
      'Lists the files below a folder. Where there are too many, deep folders are shown with a count of files.',
    schema: z.object({
      path: z.string().optional().describe('A folder; without it, the whole repository.'),
    }),
    async run({ path: asked = '.' }) {
      const { path, kind } = await files.locate(asked);
      if (kind !== 'folder') throw new NotDone(kind === 'missing' ? `there is no ${path}` : `${path} is not a folder`);
      const all = await files.list();
      const below = path === '.' ? all : all.filter((file) => file.startsWith(`${path}/`));
      if (below.length === 0) return { text: `No files below ${path}; ignored and installed ones are not listed.` };
      const top = path === '.' ? 0 : path.split('/').length;
      let lines = below;
      const deepest = below.reduce((most, file) => Math.max(most, file.split('/').length), 0);
      const fits = (): boolean => bounded(lines, MOST_LISTED).length === lines.length;
      for (let depth = deepest - 1; !fits() && depth > top; depth--) lines = folded(below, depth);
      const shown = bounded(lines, MOST_LISTED);
      const left = lines.length - shown.length;
      return { text: [...shown, ...(left > 0 ? [`… and ${left} more: search for a name instead`] : [])].join('\n') };
    },
  });

function bounded(lines: readonly string[], most: number): string[] {
  let chars = 0;
  const tooLong = lines.findIndex((line) => {
    chars += line.length + 1;
    return chars > MOST_CHARS;
  });
  return lines.slice(0, tooLong === -1 ? most : Math.min(most, tooLong));
}

function folded(files: readonly string[], depth: number): string[] {
  const counts = new Map<string, number>();
  for (const file of files) {
    const segments = file.split('/');
    const line = segments.length > depth ? `${segments.slice(0, depth).join('/')}/` : file;
    counts.set(line, (counts.get(line) ?? 0) + 1);
  }
  return [...counts].map(([line, count]) => (line.endsWith('/') ? `${line} (${count} files)` : line));
}

const MOST_READ = 1_000;
const MOST_READ_CHARS = 40_000;
const LONGEST_LINE = 2_000;
export const read = (files: ReadableFiles) =>
  toolOf({
    name: 'read',
    description: 'Shows a file with line numbers. The number and the tab before each line are not part of the file.',
    schema: z.object({
      path: z.string().describe('The file, relative to the root of the repository.'),
      offset: z.number().int().min(1).optional().describe('The first line to show, counted from 1.'),
      limit: z.number().int().min(1).optional().describe(`How many lines to show; at most ${MOST_READ}.`),
    }),
    async run({ path: asked, offset = 1, limit = MOST_READ }) {
      const { path, text } = await files.read(asked);
      const lines = text.replace(/^\ufeff/, '').split(/\r?\n/);
      if (lines.at(-1) === '') lines.pop();
      if (lines.length === 0) return { text: `${path} is empty.` };
      if (offset > lines.length) throw new NotDone(`${path} has only ${lines.length} lines`);
      const shown = numbered(lines, offset, Math.min(limit, MOST_READ));
      const last = offset + shown.length - 1;
      const more =
        last < lines.length ? [`(lines ${offset}–${last} of ${lines.length}; read on with offset ${last + 1})`] : [];
      return { text: [...shown, ...more].join('\n'), note: `${offset}–${last}` };
    },
  });

/** At least one line, and then as many as fit. */
function numbered(lines: readonly string[], offset: number, limit: number): string[] {
  const shown: string[] = [];
  let chars = 0;
  for (const [index, line] of lines.slice(offset - 1, offset - 1 + limit).entries()) {
    const cut = line.length > LONGEST_LINE ? `${line.slice(0, LONGEST_LINE)}… (${line.length} characters)` : line;
    chars += cut.length + 8;
    if (shown.length > 0 && chars > MOST_READ_CHARS) break;
    shown.push(`${String(offset + index).padStart(6)}\t${cut}`);
  }
  return shown;
}

const MOST_MATCHES = 200;
const LONGEST_MATCH = 300;
export const search = (files: ReadableFiles) =>
  toolOf({
    name: 'search',
    description: 'Finds lines in the files of the repository. Gives path, line number and line of each match.',
    schema: z.object({
      text: z.string().describe('What to look for within single lines.'),
      regex: z.boolean().optional().describe('The text is a POSIX extended regular expression ([0-9], not \\d).'),
      ignoreCase: z.boolean().optional(),
      path: z.string().optional().describe('A file, or a folder to look below; without it, the whole repository.'),
    }),
    about: ({ text, path }) => `${JSON.stringify(text)}${path === undefined ? '' : ` in ${path}`}`,
    async run({ text, regex: isRegex = false, ignoreCase = false, path: asked = '.' }) {
      if (text === '' || /[\n\0]/.test(text)) throw new NotDone('give a piece of a single line');
      return found(files, asked, { text, isRegex, ignoreCase });
    },
  });

/** The lines with their places, as many as fit. */
async function found(
  files: ReadableFiles,
  asked: string,
  search: Omit<LineSearch, 'path'>,
): Promise<{ text: string; note: string }> {
  const { path, kind } = await files.locate(asked);
  if (kind !== 'folder') await files.read(asked);
  const { lines, cut } = await files.search({ ...search, path });
  const matches = lines.map((match) => `${match.path}:${match.line}: ${match.text.slice(0, LONGEST_MATCH)}`);
  const shown = bounded(matches, MOST_MATCHES);
  const isMore = cut || shown.length < matches.length;
  const notes = [
    ...(shown.length === 0 ? ['No match; ignored and installed files are not searched.'] : []),
    ...(isMore ? ['(there are more matches: look for something rarer, or name a path)'] : []),
  ];
  return { text: [...shown, ...notes].join('\n'), note: `(${shown.length}${isMore ? '+' : ''})` };
}

/** Keywords of many languages before the name of a declaration. */
const DECLARING =
  'class|interface|type|enum|struct|union|trait|impl|protocol|record|object|namespace|module|mod|package|function|func|fn|def|fun|sub|proc|macro|const|let|var|val|static|define|typedef|data|defp|defn|defmodule';
const MODIFIERS = '(public|private|protected|internal|static|async|override|virtual|abstract|final|readonly|get|set)';

/** Matches declarations of a name: after a keyword, as a method with a block, or as a function that is assigned. */
function declarationOf(name: string): string {
  const word = name.replaceAll('$', '\\$');
  const before = '(^|[^[:alnum:]_$])';
  const after = '($|[^[:alnum:]_$])';
  return [
    `${before}(${DECLARING})[[:space:]*&]+(\\([^)]*\\)[[:space:]]*)?${word}${after}`,
    `^[[:space:]]*(${MODIFIERS}[[:space:]]+)*([[:alnum:]_<>,.*&?]+(\\[\\])?[[:space:]]+)?[*#&]?${word}[[:space:]]*(<[^()]*>)?\\([^;]*\\{[[:space:]]*$`,
    `${before}${word}[[:space:]]*(:[^=]*)?=[[:space:]]*(async[[:space:]]*)?(function|\\(|[[:alnum:]_]+[[:space:]]*=>|lambda)`,
  ].join('|');
}

/** Approximate: other forms of declarations are found with `search`. */
export const findSymbol = (files: ReadableFiles) =>
  toolOf({
    name: 'find_symbol',
    description: 'Finds the lines that declare a name. Gives path, line number and line of each.',
    schema: z.object({
      name: z.string().describe('The name of a function, class, type, method or constant.'),
      path: z.string().optional().describe('A file, or a folder to look below; without it, the whole repository.'),
    }),
    about: ({ name, path }) => `${name}${path === undefined ? '' : ` in ${path}`}`,
    async run({ name: asked, path: where = '.' }) {
      const name = asked.split(/[.#:]+/).at(-1) ?? '';
      if (!/^[\p{L}_$][\p{L}\p{N}_$]{0,99}$/u.test(name)) throw new NotDone('give one name, such as parseDate');
      return found(files, where, { text: declarationOf(name), isRegex: true, ignoreCase: false });
    },
  });

const MOST_COMMITS = 30;
/** Only subjects: diffs may hold secrets. */
export const history = (files: ReadableFiles, git: Git, commit: string) =>
  toolOf({
    name: 'history',
    description: `Shows the last commits that changed a file, newest first, at most ${MOST_COMMITS}: hash, date and subject.`,
    schema: z.object({ path: z.string().describe('A file, relative to the root of the repository.') }),
    async run({ path: asked }) {
      const { path } = await files.read(asked);
      const format = ['--no-show-signature', '--encoding=UTF-8', '--date=short', '--format=%H %ad %s'];
      const output = await git.text([
        'log',
        '--no-patch',
        `-n${MOST_COMMITS}`,
        ...format,
        commit,
        '--',
        `:(literal)${path}`,
      ]);
      // Git's short hashes grow with the repository, and a resumed conversation has to read the same text.
      const lines = output.split('\n').map((line) => line.replace(/^([0-9a-f]{12})[0-9a-f]*/, '$1').slice(0, 300));
      return { text: lines.join('\n'), note: `(${lines.length})` };
    },
  });
