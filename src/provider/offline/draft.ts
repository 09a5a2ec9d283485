import { type BaseTree, checkLld } from '../../governance/lld/checks.ts';
import type { IssueMaterial } from '../../governance/material.ts';
import { plannedFiles } from './issue-files.ts';
import { readIssue } from './issue-reading.ts';
import { renderScaffold } from './scaffold.ts';
import type { Place } from './scaffold-writer.ts';

const MOST_PASSES = 4;

/**
 * A scaffold of an LLD from the issue's own words. What the mechanical checks would hold against those words (a retry
 * without a bound, a `TBD`, a path that can't be) is moved into a quotation and asked about, so that the draft passes
 * and nothing is lost in silence. Each pass can only move more words, and the last one moves all of them.
 */
export function draftScaffold(issue: IssueMaterial, paths: readonly string[]): string {
  const { id, title } = issue;
  const files = plannedFiles(issue, paths);
  const namelessFiles = plannedFiles({ ...issue, title: '', body: '' }, paths);
  const content = { ...readIssue(issue), id, title, files, namelessFiles };
  const tree = treeOf(paths);
  const withheld = new Set<Place>();
  for (let pass = 1; ; pass++) {
    const { text, places } = renderScaffold(content, withheld);
    const errors = checkLld(text, { issueId: issue.id, tree }).findings.filter(({ severity }) => severity === 'error');
    if (errors.length === 0 || pass === MOST_PASSES) return text;
    const flagged = errors.flatMap(({ line }) => places.get(line) ?? []);
    const isStuck = flagged.length === 0 || pass === MOST_PASSES - 1;
    for (const place of isStuck ? wordsOnly(places) : flagged) withheld.add(place);
  }
}

/** Files stay: each row is either right or was flagged itself. */
function wordsOnly(places: Map<number, Place>): Place[] {
  return [...places.values()].filter((place) => !place.startsWith('file'));
}

function treeOf(paths: readonly string[]): BaseTree {
  const files = new Set(paths);
  const folders = new Set(paths.flatMap((path) => parentsOf(path)));
  return { kindOf: (path) => (files.has(path) ? 'file' : folders.has(path) ? 'directory' : null) };
}

function parentsOf(path: string): string[] {
  const names = path.split('/').slice(0, -1);
  return names.map((_, index) => names.slice(0, index + 1).join('/'));
}
