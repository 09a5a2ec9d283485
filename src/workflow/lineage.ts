import { basename, dirname, join, relative } from 'node:path';
import { listed, oneLine } from '../core/lines.ts';
import type { WorkflowName } from '../core/paths.ts';
import type { Solved } from '../core/plan.ts';
import { citationOf, type Evidence } from '../documents/already-done.ts';
import { type Decision, describeDecision } from '../documents/decision.ts';
import { type Header, issueField, readHeader, writeFrontMatter } from '../documents/header.ts';
import { type BaseCommit, openCommit } from '../git/repository.ts';
import { namesInside, readText, writeFileAtomic } from '../process/files.ts';
import { type Issue, isHashOf } from '../source/port.ts';
import type { Checkout } from './implementations.ts';
import type { ItemContext, ItemResult } from './item.ts';

export type VersionKind = 'issue' | 'draft' | 'verdict' | 'final';

/** The number after the highest one in the folder. */
export function nextVersionNumber(directory: string): number {
  return Math.max(0, ...numbersIn(directory)) + 1;
}

function numbersIn(directory: string): number[] {
  const names = namesInside(directory, dirname(directory));
  return names.map((name) => Number(/^(\d{3,})-/.exec(name)?.[1] ?? 0));
}

/** Null: it is not the name of a version. */
export function parseVersionName(name: string): { number: number; kind: VersionKind } | null {
  const [, number, kind] = /^(\d{3,6})-(issue|draft|verdict|final)\.md$/.exec(name) ?? [];
  return kind === undefined ? null : { number: Number(number), kind: kind as VersionKind };
}

export function versionName(number: number, kind: VersionKind): string {
  return `${String(number).padStart(3, '0')}-${kind}.md`;
}

/**
 * The number of a version: the one of the same text that is there already, else `from` if that is free, else the next after
 * the highest. An item that is resumed with other models may write other versions: none of them replaces an earlier one.
 */
export function placeVersion(
  directory: string,
  from: number,
  kind: VersionKind,
  content: string,
): { number: number; isThere: boolean } {
  const taken = numbersIn(directory)
    .filter((number) => number >= from)
    .sort((a, b) => a - b);
  for (const number of taken) {
    const text = readText(join(directory, versionName(number, kind)), dirname(directory));
    if (text === content) return { number, isThere: true };
  }
  return { number: taken.includes(from) ? (taken.at(-1) ?? 0) + 1 : from, isThere: false };
}

export type Lineage = ReturnType<typeof createLineage>;

export function createLineage(
  { paths, emit }: Pick<ItemContext, 'paths' | 'emit'>,
  directory: string,
  firstNumber: number,
) {
  let nextNumber = firstNumber;
  return {
    get nextNumber(): number {
      return nextNumber;
    },
    /** Returns the path. Numbers follow the order of calls, so that a resumed item finds the files that it wrote before. */
    async add(kind: VersionKind, text: string): Promise<string> {
      const content = text.endsWith('\n') ? text : `${text}\n`;
      const { number, isThere } = placeVersion(directory, nextNumber, kind, content);
      const path = join(directory, versionName(number, kind));
      nextNumber = number + 1;
      if (isThere) return path;
      await writeFileAtomic(path, content);
      emit({ type: 'file-written', path: relative(paths.repository, path), what: 'lineage' });
      return path;
    },
  };
}

/*
 * An item can be closed without a result: a person dropped it, or it was already done. The last version in its lineage is
 * then a record of that, which is valid as long as the text of the item stays the same.
 */

/** The field with the hash of that text: an item with another text is pending again. */
const HASH_FIELD = {
  issue: 'briefHash',
  lld: 'issueHash',
  implement: 'lldHash',
  eval: 'issueHash',
  land: 'lldHash',
  react: 'lldHash',
} as const;

function recordOf(
  { workflow, id, hash }: ItemContext,
  { status, body, ...fields }: { status: string; body: string } & Record<string, unknown>,
): string {
  return writeFrontMatter(body, { issue: issueField(id), workflow, status, ...fields, [HASH_FIELD[workflow]]: hash });
}

/** The record of an item that a person dropped. */
export function droppedRecord(item: ItemContext, decision: Decision): string {
  const { by, at, reason } = decision;
  const body = `# ${item.id} - ${oneLine(item.title)}\n\nThis item was ${describeDecision(decision)}.\n`;
  return recordOf(item, { status: 'dropped', body, by, at, ...(reason === null ? {} : { reason }) });
}

interface AlreadyDone {
  /** The claim, or the review that confirms it. */
  body: string;
  evidence: readonly Evidence[];
  by: { drafter?: string; reviewer: string; rounds?: number };
}

/** Ends an item that was already done at a commit. The record has no time in it, so that a resumed item writes the same. */
export async function endAsDone(
  item: ItemContext,
  lineage: Lineage,
  { body, evidence, by }: AlreadyDone,
  base: BaseCommit,
): Promise<ItemResult> {
  const { commit } = base;
  const cited = evidence.map((one) => [citationOf(one), base.idOf(one.path) ?? '']);
  const fields = { title: item.title, ...by, baseCommit: commit, evidence: Object.fromEntries(cited) };
  const record = await lineage.add('final', recordOf(item, { status: 'already-done', body, ...fields }));
  return { status: 'skipped', reason: alreadyDoneReason(commit, evidence.map(citationOf)), outputs: [record] };
}

const MOST_CITED = 5;

/** `already done at 1a2b3c4: src/main.js:3-9, …` */
function alreadyDoneReason(baseCommit: string, citations: readonly string[]): string {
  const shown = listed(citations, MOST_CITED);
  return `already done at ${baseCommit.slice(0, 7)}${shown === '' ? '' : `: ${shown}`}`;
}

export type Closed = { state: 'dropped' } | { state: 'already-done'; solved: Solved };

/** The last record in a lineage. */
function lastRecord(folder: string, inside: string, workflow: WorkflowName): { path: string; header: Header } | null {
  const finals = namesInside(folder, inside)
    .flatMap((name) => (/^\d{3,}-final\.md$/.test(name) ? [{ name, number: Number.parseInt(name, 10) }] : []))
    .sort((a, b) => b.number - a.number);
  for (const { name } of finals) {
    const path = join(folder, name);
    const text = readText(path, inside) ?? '';
    const [, status] = /^status: ([\w-]+)$/m.exec(text) ?? [];
    // An implementation ends on its branch: an approved document in the lineage is not its result.
    if (status === 'approved' && workflow !== 'implement') return null;
    if (status !== 'dropped' && status !== 'already-done') continue;
    const { header } = readHeader(text);
    if (header.workflow === workflow) return { path, header };
  }
  return null;
}

/**
 * Tells whether an item is closed, for a backlog of thousands that mostly have no lineage: listing the folder once is faster
 * than trying to open each. Evidence is compared with HEAD, whose files are listed on first use.
 */
export async function closedItems(
  { paths, git }: Checkout,
  workflow: WorkflowName,
): Promise<(item: Pick<Issue, 'id' | 'hash' | 'rawHash'>) => Promise<Closed | null>> {
  const known = new Set(namesInside(paths.lineages, paths.repository));
  let head: Promise<BaseCommit> | null = null;
  const isUnchanged = async (evidence: Header['evidence']): Promise<boolean> => {
    head ??= openCommit(git, 'HEAD');
    const now = await head;
    return Object.entries(evidence).every(([cited, id]) => now.idOf(cited.replace(/:[\d-]+$/, '')) === id);
  };
  return async (item) => {
    const { id } = item;
    const folders = workflow === 'issue' ? [paths.lineage(id), paths.briefLineage(id)] : [paths.lineage(id)];
    for (const folder of folders) {
      const record = known.has(basename(folder)) ? lastRecord(folder, paths.lineages, workflow) : null;
      if (record === null || !isHashOf(record.header[HASH_FIELD[workflow]], item)) continue;
      const { status, evidence, baseCommit } = record.header;
      if (status === 'dropped') return { state: 'dropped' };
      if (!(await isUnchanged(evidence))) continue;
      const reason = alreadyDoneReason(baseCommit ?? '', Object.keys(evidence));
      return { state: 'already-done', solved: { reason, outputs: [record.path] } };
    }
    return null;
  };
}
