import type { Nodes, TableCell } from 'mdast';
import { columnsOf, tablesIn } from '../../markdown/tables.ts';
import { type DocumentFinding, error, quote } from '../finding.ts';
import type { LldDocument } from './document.ts';

type FileChange = 'Add' | 'Modify' | 'Delete';

export interface LldFile {
  /** As written, without a leading `./` and a trailing `/`. */
  path: string;
  change: FileChange;
  description: string;
  line: number;
}

export interface FilesTable {
  /** The line of the first table that lists files; null without one. */
  filesLine: number | null;
  files: LldFile[];
  /** Rows whose change type is none of the three. */
  unreadFiles: { path: string; change: string; line: number }[];
}

const COLUMNS = {
  path: [/^(?:file|path)s?(?: ?(?:path|name))?$/, /\b(?:file|path)/, /^(?:module|location|component)$/],
  change: [
    /^(?:change type|change|type of change|change kind|action|operation)$/,
    /^(?:type|kind|status|op|add modify delete|new modified)$/,
    /\bchange\b/,
  ],
  text: [/^(?:description|purpose|summary|details?|reason|notes?|what|why|changes|rationale)$/, /./],
};
const CHANGES: [FileChange, RegExp][] = [
  ['Add', /^(?:add|creat|new$|introduc)/],
  ['Modify', /^(?:modif|updat|edit|chang|extend|refactor|amend|patch)/],
  ['Delete', /^(?:delet|remov|drop)/],
];

const OF_A_FILE = /^(?:files?|director(?:y|ies)|folders?|only|test)$/;

/** The meaning of a change type cell (`Create`, `**New file**`, `Update (minor)`), or null (`Add/Modify`, `Add tests`). */
function fileChange(text: string): FileChange | null {
  const words =
    text
      .toLowerCase()
      .replace(/\([^)]*\)/g, ' ')
      .match(/[a-z]+/g) ?? [];
  const meant = words.map((word) => CHANGES.find(([, known]) => known.test(word))?.[0] ?? null);
  const [first = null] = meant;
  return meant.every((change, index) => change === first || OF_A_FILE.test(words[index] ?? '')) ? first : null;
}

/** `source` is the whole text, because the parser drops characters of a bare path such as `src/__init__.py`. */
export function readFilesTable(nodes: readonly Nodes[], source: string): FilesTable {
  const result: FilesTable = { filesLine: null, files: [], unreadFiles: [] };
  for (const table of tablesIn(nodes)) {
    const columns = columnsOf(table, COLUMNS);
    if (columns.path === null || columns.change === null) continue;
    result.filesLine ??= table.line;
    for (const { cells, nodes: row, line } of table.rows) {
      const said = cells[columns.change] ?? '';
      const change = fileChange(said);
      const description = columns.text === null ? '' : (cells[columns.text] ?? '');
      for (const path of pathsIn(row[columns.path], source)) {
        if (change) result.files.push({ path, change, description, line });
        else result.unreadFiles.push({ path, change: said, line });
      }
    }
  }
  return result;
}

/** The paths of a cell: its code spans, else its text if that is one word; a single empty path if it has none. */
function pathsIn(cell: TableCell | undefined, source: string): string[] {
  const text = source
    .slice(cell?.position?.start.offset ?? 0, cell?.position?.end.offset ?? 0)
    .replace(/^\|/, '')
    .replace(/\\([_*|[\]])/g, '$1')
    .trim();
  const codes = [...text.matchAll(/`+([^`]+)`+/g)].map(([, code = '']) => code.trim());
  const paths = codes.length > 0 ? codes : [/^[^\s()[\]<>]*$/.test(text) ? text : ''];
  return paths.map((path) => path.replace(/^(?:\.\/)+/, '').replace(/(?<=.)\/+$/, ''));
}

const FILES_FORM = 'a table with the columns File, Change Type (Add, Modify or Delete) and Description';

/** `files-table`: every row has a path of its own and a change type. */
export function checkFilesTable({ sections, files, unreadFiles, filesLine }: LldDocument): DocumentFinding[] {
  const finding = (line: number, message: string): DocumentFinding => error('files-table', line, message);
  const section = sections.find(({ id }) => id === '2.1') ?? sections.find(({ id }) => id === '2');
  if (!section || section.nodes.length === 0) return [];
  if (filesLine === null)
    return [finding(section.line, `No table of files can be read in section 2.1: list every file in ${FILES_FORM}.`)];
  const all = [...files, ...unreadFiles];
  if (all.length === 0)
    return [finding(filesLine, 'The table of files has no rows: list every file that is added, modified or deleted.')];
  const noPath = 'A row of the table of files has no path: write it in backticks, from the root of the repository.';
  const isPath = ({ path }: Pick<LldFile, 'path'>): boolean => !/^[.–—-]?$/.test(path) && !path.includes('*');
  const firstLines = new Map(all.toReversed().map(({ path, line }) => [path, line]));
  const again = all.filter((file) => isPath(file) && firstLines.get(file.path) !== file.line);
  const paths = [...new Set(again.map(({ path }) => path))].join(', ');
  // The same wrong word in many rows is one mistake, and so is a table that lists the files again.
  return [
    ...all
      .filter((file) => !isPath(file))
      .map(({ path, line }) =>
        finding(line, path.includes('*') ? `${path} is a pattern: list each file by its own path.` : noPath),
      ),
    ...[...Map.groupBy(unreadFiles, ({ change }) => change)].map(([change, rows]) => {
      const names = rows.map(({ path }) => path || 'A row').join(', ');
      const what = `${rows.length > 1 ? 'have' : 'has'} ${change === '' ? 'no change type' : `the change type ${quote(change)}`}`;
      return finding(
        rows[0]?.line ?? 1,
        `${names} ${what}: use Add, Modify or Delete (a move is a Delete and an Add).`,
      );
    }),
    ...again.slice(0, 1).map(({ line }) => finding(line, `More than one row for ${paths}: give each file one row.`)),
  ];
}

/** The repository at the base commit. Paths are relative to its root and use `/`. */
export interface BaseTree {
  kindOf(path: string): 'file' | 'directory' | null;
}

/** The same with the contents that citations are compared with. */
export interface CitedTree extends BaseTree {
  read(path: string): Promise<Buffer>;
}

/** Top-level folders that a change may well be the first to add. */
const CONVENTIONAL =
  /^(?:\..*|src|lib|tests?|specs?|e2e|docs?|bin|scripts|tools|examples|packages|apps|cmd|internal|pkg|config|fixtures|migrations|assets|public|services|modules|crates)$/i;

/** `path-outside`, `path-missing`, `path-exists`, `path-parent`. */
export function checkPaths({ files, unreadFiles }: LldDocument, tree: BaseTree | null): DocumentFinding[] {
  const outside = [...files, ...unreadFiles].flatMap(({ path, line }) => {
    const reason = outsideReason(path);
    if (reason === null) return [];
    return [error('path-outside', line, `${path} ${reason}: use a path from the root of the repository.`)];
  });
  if (!tree) return outside;
  const readable = files.filter(({ path }) => path !== '' && !path.includes('*') && outsideReason(path) === null);
  return [...outside, ...readable.flatMap((file) => atBase(file, tree, readable))];
}

/** Why a path is outside the repository; the first reason that applies. */
const OUTSIDE: [RegExp, string][] = [
  [/^[a-z][a-z0-9+.-]*:\/\/|^\/\//i, 'is an address, not a path in the repository'],
  [/^[/\\]/, 'is an absolute path'],
  [/^[a-z]:/i, 'names a drive'],
  [/^~|^(?:\$\{?[A-Z_]{2,}\}?|%[A-Z_]+%)(?:[/\\]|$)/, 'leads to a folder outside the repository'],
  [/(?:^|[/\\])\.\.(?:[/\\]|$)/, 'leaves the repository with ".."'],
  [/\\/, 'has backslashes'],
  [/\p{Cc}/u, 'has control characters'],
  [/(?:^|\/)(?:\.git[. ]*|git~\d+)(?:\/|$)/i, "is inside git's own folder"],
  [/^\.agentos(?:\/|$)/i, "is inside the program's own state folder"],
];

function outsideReason(path: string): string | null {
  const decoded = path.replace(/%(2e|2f|5c)/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
  const seen = decoded.normalize('NFKC');
  return OUTSIDE.find(([pattern]) => pattern.test(seen))?.[1] ?? null;
}

function atBase({ path, change, line }: LldFile, tree: BaseTree, all: LldFile[]): DocumentFinding[] {
  const kind = tree.kindOf(path);
  const at = 'at the base commit';
  if (change !== 'Add') {
    const [done, advice] = change === 'Modify' ? ['modified', 'make it an Add'] : ['deleted', 'remove the row'];
    const message = `${path} can't be ${done}, it is not in the repository ${at}: correct the path, or ${advice}.`;
    return kind === null ? [error('path-missing', line, message)] : [];
  }
  if (kind !== null) {
    const [what, advice] =
      kind === 'file'
        ? [`already in the repository ${at}`, 'make it a Modify, or choose another path']
        : [`a folder ${at}`, 'list the files inside it'];
    return [error('path-exists', line, `${path} can't be added, it is ${what}: ${advice}.`)];
  }
  const folders = ancestors(path);
  const blocking = folders.find((folder) => tree.kindOf(folder) === 'file');
  if (blocking !== undefined)
    return [error('path-parent', line, `${path} can't be added, ${blocking} is a file ${at}: choose another folder.`)];
  const [first, second] = folders;
  if (first === undefined || second === undefined || CONVENTIONAL.test(first)) return [];
  // A file directly in the new folder shows that the folder is not a typing error.
  const isMeant = all.some((other) => other.change === 'Add' && ancestors(other.path).join() === first);
  if (isMeant || [first, second].some((folder) => tree.kindOf(folder) !== null)) return [];
  // The other files of a new folder are the same mistake.
  if (all.find((other) => other.change === 'Add' && ancestors(other.path)[0] === first)?.path !== path) return [];
  const missing = `neither ${folders.join(' nor ')} is in the repository: use an existing folder, or correct the path`;
  return [error('path-parent', line, `${path} can't be added, ${missing}.`)];
}

/** The folders above a path, outermost first: `a`, `a/b` for `a/b/c`. */
function ancestors(path: string): string[] {
  const names = path.split('/').slice(0, -1);
  return names.map((_, index) => names.slice(0, index + 1).join('/'));
}
