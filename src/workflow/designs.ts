import { appendFile, readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Nodes } from 'mdast';
import {
  type DesignNames,
  describeForecast,
  type ForecastDesign,
  forecastOf,
  MOST_DESIGNS,
  nameIn,
} from '../core/forecast.ts';
import { sha256 } from '../core/hash.ts';
import { fieldsOf, parseJson } from '../core/json.ts';
import type { Paths } from '../core/paths.ts';
import { isApproved, readHeader } from '../documents/header.ts';
import { type DesignFacts, designFacts, readLld } from '../documents/lld/document.ts';
import type { LldFile } from '../documents/lld/files.ts';
import type { BaseCommit } from '../git/repository.ts';
import { codeIn, markedText } from '../markdown/markdown.ts';
import { makeFolder } from '../process/files.ts';
import { tagged } from '../prompts/tags.ts';
import { designIds, readLldText } from './approved-documents.ts';

/**
 * The other designs that are approved and whose code is not in the base yet. The result is stored when the item starts, so
 * that a resumed item asks the same questions although designs come and go.
 */
export async function otherDesigns(
  paths: Paths,
  ownId: string,
  openBase: () => Promise<Pick<BaseCommit, 'kindOf'>>,
): Promise<ForecastDesign[]> {
  const others = designIds(paths).filter((id) => id !== ownId);
  if (others.length === 0) return [];
  const base = await openBase();
  const ids = others.filter((id) => base.kindOf(paths.report(id)) === null);
  const cache = createDesignCache(paths.designs);
  const designs: ForecastDesign[] = [];
  for (const id of ids.slice(-MOST_DESIGNS)) {
    const text = readLldText(paths.lld(id)) ?? '';
    if (isApprovedText(text)) designs.push(asForecast(id, await cache.factsOf(text)));
  }
  // Designs that others made since: the next item here need not parse them again.
  await cache.save();
  return designs;
}

/** What planning and a forecast compare of designs. */
type PlannedDesign = DesignFacts & DesignNames;

function plannedDesign(text: string): PlannedDesign {
  return { ...designFacts(text), ...designNames(text) };
}

/** By the hash of the text: a worker sees the same designs with every item, and reading a header takes a millisecond. */
const approvals = new Map<string, boolean>();

function isApprovedText(text: string): boolean {
  const hash = sha256(text);
  const approved = approvals.get(hash) ?? isApproved(readHeader(text));
  approvals.set(hash, approved);
  return approved;
}

function asForecast(id: string, { files, after, declares, adds, uses }: PlannedDesign): ForecastDesign {
  return { id, files, after, declares, adds, uses };
}

const FORECAST = `Other designs are approved and not built yet. Those that touch the same code, by what the designs say:`;
const JUDGE_IT =
  'Raise a finding only where both can not stand, where one does again what the other does, or where the order matters and "Depends on" does not say it.';

/** For a reviewer; empty if no other design touches this one. */
export function forecastFor(id: string, lld: string, others: readonly ForecastDesign[]): string {
  const own = asForecast(id, plannedDesign(lld));
  const found = others.length === 0 ? [] : (forecastOf([own, ...others]).get(id) ?? []);
  return found.length === 0 ? '' : tagged('other-designs', `${FORECAST}\n\n${describeForecast(found)}\n\n${JUDGE_IT}`);
}

declare const AGENTOS_VERSION: string | undefined;

/** Another version of the program may read the same text differently. */
const READER = typeof AGENTOS_VERSION === 'string' ? AGENTOS_VERSION : 'source';

export type DesignCache = ReturnType<typeof createDesignCache>;

/**
 * What planning needs of designs, by the hash of their text: parsing one takes milliseconds, and a plan may have ten thousand.
 * A file of JSON lines, read on first use; a torn or wrong line is ignored, and its design is parsed. It does not say whether
 * a design is approved, because programs of items can write to the folder of caches.
 */
export function createDesignCache(file: string) {
  const parsed = new Map<string, PlannedDesign>();
  let known: Promise<Map<string, PlannedDesign>> | null = null;
  return {
    async factsOf(text: string): Promise<PlannedDesign> {
      known ??= readFile(file, 'utf8').then(entriesIn, () => new Map());
      const hash = sha256(text);
      const stored = (await known).get(hash);
      if (stored !== undefined) return stored;
      const facts = parsed.get(hash) ?? plannedDesign(text);
      parsed.set(hash, facts);
      return facts;
    },
    /** Stores what had to be parsed; nothing is written before. */
    save: (): Promise<void> => store(file, parsed),
  };
}

/** For a design that was just approved, so that the next plan finds it. */
export function rememberDesign(file: string, text: string): Promise<void> {
  return store(file, new Map([[sha256(text), plannedDesign(text)]]));
}

async function store(file: string, designs: ReadonlyMap<string, PlannedDesign>): Promise<void> {
  if (designs.size === 0) return;
  // The line break comes first, so that a write that was cut off spoils no other entry.
  const lines = [...designs].map(([hash, facts]) => `\n${JSON.stringify({ hash, reader: READER, ...facts })}`);
  try {
    await makeFolder(dirname(file));
    await appendFile(file, lines.join(''));
  } catch {
    // The next plan parses them again.
  }
}

const LISTS = ['files', 'after', 'declares', 'adds', 'uses'] as const;

function entriesIn(text: string): Map<string, PlannedDesign> {
  const entries = new Map<string, PlannedDesign>();
  for (const line of text.split('\n')) {
    const { hash, reader, title, ...lists } = fieldsOf(parseJson(line));
    const isWhole = LISTS.every((name) => isTexts(lists[name]));
    if (reader === READER && typeof hash === 'string' && typeof title === 'string' && isWhole)
      entries.set(hash, { title, ...(lists as Omit<PlannedDesign, 'title'>) });
  }
  return entries;
}

function isTexts(value: unknown): boolean {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
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
export function designNames(text: string): DesignNames {
  const { root, sections, files } = readLld(text);
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
