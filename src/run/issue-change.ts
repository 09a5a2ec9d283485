import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { structuredPatch } from 'diff';
import { parseIssue } from '../source/directory.ts';
import { type Issue, isHashOf, shownIssue } from '../source/port.ts';

const MOST_LINES = 20;
const MOST_CHARS = 160;

/**
 * What an issue says otherwise than when its LLD was approved, as lines of a diff within a bound. Null: what it said then is
 * not in the lineage.
 */
export async function issueDifference(
  folder: string,
  issue: Issue,
  issueHash: string | null,
): Promise<string[] | null> {
  const designed = await designedIssue(folder, issue, issueHash);
  if (designed === null) return null;
  const patch = structuredPatch('', '', shownIssue(designed), shownIssue(issue), '', '', { context: 0 });
  const lines = patch.hunks.flatMap((hunk) => hunk.lines).filter((line) => /^[+-]\s*\S/.test(line));
  const shown = lines.slice(0, MOST_LINES).map((line) => {
    const text = `${line.charAt(0)} ${line.slice(1).trim()}`;
    return text.length > MOST_CHARS ? `${text.slice(0, MOST_CHARS - 1)}…` : text;
  });
  return lines.length > MOST_LINES ? [...shown, `… and ${lines.length - MOST_LINES} more line(s)`] : shown;
}

/** The version of the issue that has this hash. */
async function designedIssue(folder: string, { id }: Issue, issueHash: string | null): Promise<Issue | null> {
  const names = (await readdir(folder).catch(() => [])).filter((name) => /^\d{3,}-issue\.md$/.test(name));
  for (const name of names.sort().reverse()) {
    const version = parseIssue(id, await readFile(join(folder, name), 'utf8').catch(() => ''));
    if (isHashOf(issueHash, version)) return version;
  }
  return null;
}
