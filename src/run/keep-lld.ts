import { readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { AgentosError } from '../core/errors.ts';
import type { ItemId } from '../core/ids.ts';
import type { Decision } from '../documents/decision.ts';
import { readFrontMatter, writeFrontMatter } from '../documents/header.ts';
import { writeFileAtomic } from '../process/files.ts';
import { acquireLock } from '../process/lock.ts';
import { createDirectorySource } from '../source/directory.ts';
import type { Issue } from '../source/port.ts';
import { isApprovedForAnother, readLldFile } from '../workflow/approved-lld.ts';
import { nextVersionNumber, versionName } from '../workflow/lineage.ts';
import type { Project } from './project.ts';

/** The issue as it is now, where its LLD was approved for another text of it; else null. */
export async function outgrownIssue({ paths }: Project, id: ItemId): Promise<Issue | null> {
  const lld = await readLldFile(paths.lld(id));
  if (lld === null) return null;
  const issue = await createDirectorySource(paths.issues)
    .read(id)
    .catch(() => null);
  return issue !== null && isApprovedForAnother(lld, issue) ? issue : null;
}

export interface KeptLld {
  /** The file that tells of it, and the LLD; relative to the repository. */
  lineage: string;
  path: string;
}

/** Lets an approved LLD count for what its issue says now, in a person's name. No model is asked. */
export async function keepLld(project: Project, id: ItemId, decision: Decision): Promise<KeptLld> {
  const { paths, mask } = project;
  const lock = acquireLock(paths.lock('lld', id), { workflow: 'lld', id }, new Date().toISOString());
  try {
    // A run may have replaced the LLD between the look and the lock.
    const issue = await outgrownIssue(project, id);
    if (issue === null) throw new AgentosError({ code: 'not-waiting', id, last: null });
    const folder = paths.lineage(id);
    const number = await nextVersionNumber(folder);
    const verdict = join(folder, versionName(number + 1, 'verdict'));
    // With this text the next change is compared.
    await writeFileAtomic(join(folder, versionName(number, 'issue')), ended(mask(issue.raw)));
    await writeFileAtomic(verdict, decision.document);
    const { fields, body } = readFrontMatter(await readFile(paths.lld(id), 'utf8'));
    const { by, reason } = decision;
    const kept = { ...fields, issueHash: issue.hash, keptBy: by, keptBecause: reason };
    await writeFileAtomic(paths.lld(id), writeFrontMatter(body, kept));
    return { lineage: relative(paths.repository, verdict), path: relative(paths.repository, paths.lld(id)) };
  } finally {
    lock.release();
  }
}

function ended(text: string): string {
  return text.endsWith('\n') ? text : `${text}\n`;
}
