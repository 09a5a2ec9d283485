import { basename, join } from 'node:path';
import type { Paths, WorkflowName } from '../core/paths.ts';
import type { Solved } from '../core/plan.ts';
import { citationOf, type Evidence } from '../documents/already-done.ts';
import { type Decision, describeDecision } from '../documents/decision.ts';
import { type Header, readHeader, writeFrontMatter } from '../documents/header.ts';
import type { Git } from '../git/git.ts';
import { type BaseCommit, openCommit } from '../git/repository.ts';
import { namesInside, readText } from '../process/text-file.ts';
import { type Issue, isHashOf } from '../source/port.ts';
import type { ItemContext } from './item.ts';

/*
 * An item can be closed without what its workflow makes: a person dropped it, or it was done before. The last version in its
 * lineage is then a record of that, and it counts as long as the item says what it said.
 */

/** The field that names the text it counts for: the same item with another text is pending again. */
const HASH_FIELD = {
  issue: 'briefHash',
  lld: 'issueHash',
  implement: 'lldHash',
  eval: 'issueHash',
  land: 'lldHash',
} as const;

function recordOf(
  { workflow, id, hash }: ItemContext,
  { status, body, ...fields }: { status: string; body: string } & Record<string, unknown>,
): string {
  const issue = /^[1-9]\d{0,14}$/.test(id) ? Number(id) : id;
  return writeFrontMatter(body, { issue, workflow, status, ...fields, [HASH_FIELD[workflow]]: hash });
}

/** What the lineage keeps of an item that a person dropped. */
export function droppedRecord(item: ItemContext, decision: Decision): string {
  const { by, at, reason } = decision;
  const title = item.title.replace(/\s+/g, ' ').trim();
  const body = `# ${item.id} - ${title}\n\nThis item was ${describeDecision(decision)}.\n`;
  return recordOf(item, { status: 'dropped', body, by, at, ...(reason === null ? {} : { reason }) });
}

export interface AlreadyDone {
  /** The claim, or the review that says so. */
  body: string;
  evidence: readonly Evidence[];
  /** Who said so. */
  by: { drafter?: string; reviewer: string; rounds?: number };
}

/** What the lineage keeps of an item that was already done at a commit. Nothing in it depends on the time. */
export function alreadyDoneRecord(
  item: ItemContext,
  { body, evidence, by }: AlreadyDone,
  base: Pick<BaseCommit, 'commit' | 'idOf'>,
): string {
  const cited = evidence.map((one) => [citationOf(one), base.idOf(one.path) ?? '']);
  const fields = { title: item.title, ...by, baseCommit: base.commit, evidence: Object.fromEntries(cited) };
  return recordOf(item, { status: 'already-done', body, ...fields });
}

const MOST_CITED = 5;

/** `already done at 1a2b3c4: src/main.js:3-9, …`; the commit and the citations are those of the record. */
export function alreadyDoneReason(baseCommit: string, citations: readonly string[]): string {
  const more = citations.length > MOST_CITED ? [`and ${citations.length - MOST_CITED} more`] : [];
  const shown = [...citations.slice(0, MOST_CITED), ...more].join(', ');
  return `already done at ${baseCommit.slice(0, 7)}${shown === '' ? '' : `: ${shown}`}`;
}

export type Closed = { state: 'dropped' } | { state: 'already-done'; solved: Solved };

/** The last record on this text in a folder of the lineage. */
function lastRecord(folder: string, inside: string, workflow: WorkflowName): { path: string; header: Header } | null {
  const finals = namesInside(folder, inside)
    .flatMap((name) => (/^\d{3,}-final\.md$/.test(name) ? [{ name, number: Number.parseInt(name, 10) }] : []))
    .sort((a, b) => b.number - a.number);
  for (const { name } of finals) {
    const path = join(folder, name);
    const text = readText(path, inside) ?? '';
    // An implementation ends on its branch, so an approved document in here says nothing about it.
    if (workflow === 'implement' && !/^status: (?:dropped|already-done)$/m.test(text)) continue;
    const { header } = readHeader(text);
    const isRecord = header.status === 'dropped' || header.status === 'already-done';
    if (isRecord && header.workflow === workflow) return { path, header };
    if (header.status === 'approved' && workflow !== 'implement') return null;
  }
  return null;
}

/**
 * Whether an item is closed, for a backlog of ten thousand that mostly have no lineage: listing the folder once costs less
 * than as many failed attempts to open one. Evidence is compared with HEAD, which is listed once, when it is first needed.
 */
export async function closedItems(
  paths: Paths,
  git: Git,
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
