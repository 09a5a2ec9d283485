import type { Nodes, Root } from 'mdast';
import { nameIn } from '../../core/forecast.ts';
import { codeIn, markedText } from '../markdown.ts';
import type { DocumentSection } from '../sections.ts';
import type { LldFile } from './files.ts';

/** The names in a design, for comparing it with other designs. */
export interface DesignNames {
  /** Declarations that it is about: `src/parse.ts#parseDate`; `#parseDate` if it names no file. */
  declares: string[];
  /** New files, and new declarations in the same form. */
  adds: string[];
  /** Other paths and names in backticks. */
  uses: string[];
}

const MOST_DECLARED = 60;
const MOST_USED = 150;
const LONGEST = 120;

const DECLARED =
  /\b(?:function\*?|class|interface|type|enum|struct|trait|record|def|func|fn|const|let|var|val)\s+(?:\([^)]*\)\s*)?([A-Za-z_$][\w$]*)/g;
/** `name(…)` at the beginning of a line, in a comment or not. */
const CALLED =
  /^[\s/#*-]*(?:(?:export|default|public|private|static|async|abstract)\s+)*([A-Za-z_$][\w$]*)\s*(?:<[^>()]*>)?\(/gm;
const NO_NAMES = new Set(
  'if for while switch return catch function def func fn async await throw new do else try'.split(' '),
);
const IDENTIFIER = /^(?:[A-Za-z_$][\w$]*[.#:]+)*([A-Za-z_$][\w$]{2,})(?:\(.*\))?$/;
const ADDING = /\b(?:add(?:s|ed|ing)?|new|introduc\w+|exports?|creates?)\b/i;
/** Usual names of test files. For a missed one, declarations have no file. */
const TESTS = /(?:^|[/._-])(?:tests?|spec)(?:[/._-]|$)/i;
const PATH = /^[\w@.-][\w@./ -]*\.[A-Za-z]\w{0,9}$/;

/** Read from the table of files, the listed signatures and structures, and the words in backticks. */
export function designNames(root: Root, sections: readonly DocumentSection[], files: readonly LldFile[]): DesignNames {
  const added = new Set(files.filter(({ change }) => change === 'Add').map(({ path }) => path));
  const declares = new Set<string>();
  const adds = new Set(added);
  const declare = (path: string | null, name: string, isNew: boolean): void => {
    const key = `${path ?? ''}#${name}`;
    if (name.length > LONGEST || declares.size >= MOST_DECLARED) return;
    declares.add(key);
    if (path !== null && (isNew || added.has(path))) adds.add(key);
  };
  for (const { path, description } of files) {
    for (const name of codeWords(description).flatMap(identifierOf)) declare(path, name, ADDING.test(description));
  }
  const listed = sections.filter(({ id }) => id === '2.3' || id === '2.4').flatMap(({ nodes }) => nodes);
  const [first = null, second] = files.map((file) => file.path).filter((file) => !TESTS.test(file));
  const only = second === undefined ? first : null;
  let path = only;
  for (const node of listed) {
    // A heading or a sentence above a listing names its file, unless the design has only one.
    if (node.type !== 'code') path = pathIn(markedText(node), files) ?? (node.type === 'heading' ? only : path);
    for (const { value } of codeIn(node)) {
      for (const name of declaredIn(value)) declare(pathIn(value, files) ?? path, name, false);
    }
  }
  const own = new Set([...files.map((file) => file.path), ...[...declares].map(nameIn)]);
  const mentioned = inlineCode(root).flatMap((code) => (PATH.test(code) ? [code] : identifierOf(code)));
  // Another design may add the files that this one only changes.
  const changed = files.filter(({ change }) => change !== 'Add').map((file) => file.path);
  const uses = [...changed, ...mentioned.filter((word) => !own.has(word) && word.length <= LONGEST)];
  return { declares: [...declares], adds: [...adds], uses: [...new Set(uses)].slice(0, MOST_USED) };
}

function declaredIn(code: string): string[] {
  const found = [...code.matchAll(DECLARED), ...code.matchAll(CALLED)].map(([, name = '']) => name);
  return found.filter((name) => !NO_NAMES.has(name));
}

/** The only file of the design that a text names. */
function pathIn(text: string, files: readonly LldFile[]): string | null {
  const named = files.filter(({ path }) => text.includes(path)).map(({ path }) => path);
  return new Set(named).size === 1 ? (named[0] ?? null) : null;
}

function codeWords(text: string): string[] {
  return [...text.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code.trim());
}

function identifierOf(code: string): string[] {
  const name = PATH.test(code) && code.includes('/') ? undefined : IDENTIFIER.exec(code)?.[1];
  return name === undefined ? [] : [name];
}

function inlineCode(node: Nodes): string[] {
  if (node.type === 'inlineCode') return [node.value.trim()];
  return 'children' in node ? node.children.flatMap((child: Nodes) => inlineCode(child)) : [];
}
