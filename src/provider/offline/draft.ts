import { type BaseTree, checkLld } from '../../governance/lld/checks.ts';
import type { IssueMaterial } from '../../governance/material.ts';
import { plannedFiles } from './issue-files.ts';
import { readIssue } from './issue-reading.ts';
import { renderScaffold } from './scaffold.ts';
import { withholdUntilClean } from './withholding.ts';

/** A scaffold of an LLD from the issue's own words; what the mechanical checks would hold against them is asked about. */
export function draftScaffold(issue: IssueMaterial, paths: readonly string[]): string {
  const { id, title } = issue;
  const files = plannedFiles(issue, paths);
  const namelessFiles = plannedFiles({ ...issue, title: '', body: '' }, paths);
  const content = { ...readIssue(issue), id, title, files, namelessFiles };
  const tree = treeOf(paths);
  return withholdUntilClean(
    (withheld) => renderScaffold(content, withheld),
    (text) => checkLld(text, { issueId: issue.id, tree }).findings,
    // Files stay: each row is either right or was flagged itself.
    (place) => place.startsWith('file'),
  );
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
