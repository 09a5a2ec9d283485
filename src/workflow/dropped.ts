import { readdir, readFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { ItemId } from '../core/ids.ts';
import type { Paths, WorkflowName } from '../core/paths.ts';
import { type Decision, describeDecision } from '../documents/decision.ts';
import { readFrontMatter, writeFrontMatter } from '../documents/lld/front-matter.ts';
import { type Issue, isHashOf } from '../source/port.ts';

/** The field that names what was dropped: the same item with another text is pending again. */
const HASH_FIELD: Record<WorkflowName, string> = { issue: 'briefHash', lld: 'issueHash', implement: 'lldHash' };

/** What the lineage keeps of an item that a person dropped. */
export function droppedRecord(
  decision: Decision,
  { workflow, id, title, hash }: { workflow: WorkflowName; id: string; title: string; hash: string },
): string {
  const { by, at, reason } = decision;
  const body = `# ${id} - ${title.replace(/\s+/g, ' ').trim()}\n\nThis item was ${describeDecision(decision)}.\n`;
  return writeFrontMatter(body, {
    issue: /^[1-9]\d{0,14}$/.test(id) ? Number(id) : id,
    workflow,
    status: 'dropped',
    by,
    at,
    ...(reason === null ? {} : { reason }),
    [HASH_FIELD[workflow]]: hash,
  });
}

/** Whether the last word on this text in a folder of the lineage is that it is not to be done. */
async function isDropped(folder: string, workflow: WorkflowName, isOf: (stored: unknown) => boolean): Promise<boolean> {
  const finals = (await readdir(folder).catch(() => []))
    .flatMap((name) => (/^\d{3,}-final\.md$/.test(name) ? [{ name, number: Number.parseInt(name, 10) }] : []))
    .sort((a, b) => b.number - a.number);
  for (const { name } of finals) {
    const text = await readFile(join(folder, name), 'utf8').catch(() => '');
    // An implementation ends on its branch: what is approved in here is a document, and not worth parsing.
    if (workflow === 'implement' && !text.includes('status: dropped')) continue;
    const { fields } = readFrontMatter(text);
    if (fields['status'] === 'dropped' && fields['workflow'] === workflow) return isOf(fields[HASH_FIELD[workflow]]);
    if (fields['status'] === 'approved' && workflow !== 'implement') return false;
  }
  return false;
}

/**
 * Whether an item was dropped, for a backlog of ten thousand that mostly have no lineage: one look at the folder costs
 * less than as many failed attempts to open one.
 */
export async function droppedItems(
  paths: Paths,
  workflow: WorkflowName,
): Promise<(item: Pick<Issue, 'id' | 'hash' | 'rawHash'>) => Promise<boolean>> {
  const known = new Set(await readdir(dirname(paths.lineage('x' as ItemId))).catch(() => []));
  return async (item) => {
    const { id } = item;
    const folders = workflow === 'issue' ? [paths.lineage(id), paths.briefLineage(id)] : [paths.lineage(id)];
    for (const folder of folders) {
      if (known.has(basename(folder)) && (await isDropped(folder, workflow, (stored) => isHashOf(stored, item))))
        return true;
    }
    return false;
  };
}
