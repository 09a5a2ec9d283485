/**
 * How much of what real commits changed would have been shown for their messages, and how long that takes:
 *
 *     npm run bench -- context
 *     CONTEXT_REPOSITORIES=/path/of/one:/path/of/another CONTEXT_COMMITS=40 npm run bench -- context
 *
 * The message of a commit is the issue, its parent the base. Merges, commits of lock files or documentation alone, of more
 * than ten files, and messages of fewer than three words are skipped. Lines are the old side of the change.
 */

import { basename, dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createGit, type Git } from '../src/git/git.ts';
import { repositoryContext } from '../src/prompts/context/context.ts';
import { isGeneratedPath } from '../src/prompts/context/file-facts.ts';
import type { Known } from '../src/prompts/context/index-file.ts';
import { type BenchRow, below, inMs, shown } from './support/row.ts';

const BUDGET_TOKENS = 24_000;
const MOST_FILES = 10;

interface Change {
  commit: string;
  base: string;
  title: string;
  body: string;
  /** Old lines by path: those that were replaced or removed, and for an insertion the one before it. */
  lines: Map<string, number[]>;
}

export interface Recall {
  files: number;
  lines: number;
  commits: number;
}

export async function changesOf(git: Git, most: number): Promise<Change[]> {
  const listed = (await git.text(['log', '-n', String(most * 6), '--no-merges', '--format=%H %P'])).split('\n');
  const changes: Change[] = [];
  for (const line of listed) {
    const [commit = '', base] = line.split(' ');
    if (base === undefined || changes.length >= most) continue;
    const message = await git.text(['show', '-s', '--format=%B', commit]);
    const [title = '', ...rest] = message.split('\n');
    if (message.trim().split(/\s+/).length < 3) continue;
    // A partial clone lacks the content of some.
    const diff = git.text(['diff-tree', '-p', '-U0', '--no-renames', '--no-color', base, commit]).catch(() => '');
    const lines = oldLines(await diff);
    const code = [...lines.keys()].filter((path) => !isGeneratedPath(path) && !/\.(md|rst|txt|adoc)$/i.test(path));
    if (lines.size === 0 || lines.size > MOST_FILES || code.length === 0) continue;
    changes.push({ commit, base, title, body: rest.join('\n'), lines });
  }
  return changes;
}

function oldLines(diff: string): Map<string, number[]> {
  const lines = new Map<string, number[]>();
  let path: string | null = null;
  for (const line of diff.split('\n')) {
    const name = /^--- (?:a\/(.+)|\/dev\/null)$/.exec(line);
    if (name !== null) path = name[1]?.replace(/\t$/, '') ?? null;
    const hunk = /^@@ -(\d+)(?:,(\d+))? /.exec(line);
    if (hunk === null || path === null) continue;
    const from = Number(hunk[1]);
    const count = Number(hunk[2] ?? 1);
    const own = lines.get(path) ?? [];
    if (count === 0) own.push(Math.max(1, from));
    for (let at = from; at < from + count; at++) own.push(at);
    lines.set(path, own);
  }
  return lines;
}

export async function recallOf(git: Git, changes: readonly Change[]): Promise<Recall> {
  const known: Known = { blobs: new Map(), commits: new Map() };
  let files = 0;
  let lines = 0;
  for (const change of changes) {
    const context = await repositoryContext(git, change.base, change, { maxTokens: BUDGET_TOKENS, exclude: [] }, known);
    const ranges = new Map(context.files.map((file) => [file.path, file.lines]));
    const changed = [...change.lines];
    files += changed.filter(([path]) => ranges.has(path)).length / changed.length;
    const all = changed.flatMap(([path, own]) => own.map((line) => ({ path, line })));
    const hit = all.filter(({ path, line }) => ranges.get(path)?.some(([from, to]) => line >= from && line <= to));
    lines += hit.length / all.length;
  }
  return { files: files / changes.length, lines: lines / changes.length, commits: changes.length };
}

export async function contextBench(): Promise<BenchRow[]> {
  const own = dirname(dirname(fileURLToPath(import.meta.url)));
  const directories = (process.env['CONTEXT_REPOSITORIES'] ?? own).split(':').filter((path) => path !== '');
  const most = Number(process.env['CONTEXT_COMMITS'] ?? 40);
  const rows: BenchRow[] = [];
  const recalls: Recall[] = [];
  for (const directory of directories) {
    const git = createGit(directory, { PATH: process.env['PATH'] ?? '' });
    const recall = await recallOf(git, await changesOf(git, most));
    recalls.push(recall);
    const name = basename(directory) === 'repo' ? basename(dirname(directory)) : basename(directory);
    rows.push(row(`${name} (${recall.commits} commits)`, recall, 0.85, 0));
    rows.push(...(await timeOf(git, name)));
  }
  const mean = (of: (recall: Recall) => number): number =>
    recalls.reduce((sum, one) => sum + of(one), 0) / recalls.length;
  rows.push(row('mean', { files: mean((one) => one.files), lines: mean((one) => one.lines), commits: 0 }, 0.95, 0.8));
  return rows;
}

/** For one item without an index, and for the next with it. */
async function timeOf(git: Git, name: string): Promise<BenchRow[]> {
  const commit = await git.text(['rev-parse', 'HEAD']);
  const asked = { title: 'The error of a failed request is lost', body: 'It should name the `path` and the reason.' };
  const known: Known = { blobs: new Map(), commits: new Map() };
  const once = async (): Promise<number> => {
    const startedAt = performance.now();
    await repositoryContext(git, commit, asked, { maxTokens: BUDGET_TOKENS, exclude: [] }, known);
    return performance.now() - startedAt;
  };
  const firstMs = await once();
  const files = known.blobs.size;
  const limitMs = files <= 3_000 ? 1_000 : 6_000;
  return [
    below(`context, ${name}: ${files} files, no index`, firstMs, limitMs, inMs),
    shown(`context, ${name}: with the index`, inMs(await once())),
  ];
}

function row(name: string, { files, lines }: Recall, leastFiles: number, leastLines: number): BenchRow {
  const percent = (value: number): string => `${(value * 100).toFixed(1)} %`;
  return {
    name: `context, recall: ${name}`,
    value: `files ${percent(files)}, lines ${percent(lines)}`,
    target: `≥ ${leastFiles * 100} %${leastLines > 0 ? `, ≥ ${leastLines * 100} %` : ''}`,
    ok: files >= leastFiles && lines >= leastLines,
  };
}
