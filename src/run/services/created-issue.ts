import { resolve } from 'node:path';
import type { ItemId } from '../../core/ids.ts';
import { oneLine, unlinked } from '../../core/lines.ts';
import { readFrontMatter } from '../../documents/header.ts';
import { withoutReviewLog } from '../../documents/revise/review-log.ts';
import type { ExistingIssue } from '../../forge/port.ts';
import { readText } from '../../process/files.ts';
import { createBriefSource, parseIssue } from '../../source/directory.ts';
import type { Issue } from '../../source/port.ts';
import type { TaskResult } from '../../worker/protocol.ts';
import { findDuplicates } from '../../workflow/duplicates.ts';
import type { Project } from '../project.ts';
import { postOnce } from './posts.ts';

/** How much of an existing issue is compared and shown. */
const MOST_CHARS = 4_000;

/** Marks an issue that was made from a brief, with the brief's id and hash. */
function briefMarker({ id, hash }: Pick<Issue, 'id' | 'hash'>): string {
  return `<!-- agentos:brief ${id} ${hash.slice(0, 12)} -->`;
}

/** The issue that was created from the current text of a brief; null: none. */
export async function createdFrom({ hosts }: Project, brief: Issue): Promise<string | null> {
  return (await (await hosts.tracker()).findIssue(briefMarker(brief)))?.url ?? null;
}

/** Existing issues that are similar to a brief. The parent looks them up, because a worker asks no service. */
export async function existingLike({ hosts }: Project, brief: Pick<Issue, 'title' | 'body'>): Promise<ExistingIssue[]> {
  const all = await (await hosts.tracker()).existing();
  const known = all.map(({ id, title, body }) => ({ id, title, text: body, kind: 'issue' as const }));
  const alike = new Set<string>(findDuplicates(brief, known).map(({ id }) => id));
  return all.filter(({ id }) => alike.has(id)).map((issue) => ({ ...issue, body: issue.body.slice(0, MOST_CHARS) }));
}

/** Creates the reviewed issue, once, unless somebody else's issue has its title. */
export async function createIssue(project: Project, id: ItemId, result: TaskResult): Promise<TaskResult> {
  const { paths, hosts, mask } = project;
  const [file = ''] = result.outputs;
  if (result.status !== 'succeeded' || !file.endsWith('-final.md')) return result;
  const tracker = await hosts.tracker();
  const brief = await createBriefSource(paths.briefs).read(id);
  const { body } = readFrontMatter(readText(resolve(paths.repository, file), paths.repository) ?? '');
  const issue = withoutReviewLog(body);
  const title = unlinked(oneLine(parseIssue(id, issue).title));
  const marker = briefMarker(brief);
  const key = { name: 'issue', inputs: { on: tracker.location, brief: brief.hash } };
  const create = async () => {
    const same = (await tracker.existing()).find((one) => wordsOf(one.title) === wordsOf(title));
    if (same !== undefined) return { url: `${tracker.location}#${same.id}`, isThere: true };
    const text = `${withoutTitle(issue)}\n\n${marker}\n`;
    return { ...(await tracker.createIssue({ title: mask(title), body: mask(text) })), isThere: false };
  };
  const lookUp = async () => {
    const own = await tracker.findIssue(marker);
    return own === null ? null : { ...own, isThere: false };
  };
  const { url, isThere } = await postOnce(paths, `${id}.brief`, key, create, lookUp);
  const made = { ...result, outputs: [url, ...result.outputs] };
  if (!isThere) return made;
  return { ...made, status: 'skipped', reason: `${url} has the same title: no other issue was created` };
}

function wordsOf(title: string): string {
  return title
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim();
}

/** A service shows the title by itself. */
function withoutTitle(text: string): string {
  return text.trim().replace(/^# [^\n]*\n+/, '');
}
