import { readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import type { WorkflowName } from '../core/paths.ts';
import { filledTemplate } from '../documents/filled-template.ts';
import type { Issue } from '../source/port.ts';
import type { DocumentDependencies, DocumentResult } from './document.ts';
import { createLineage, nextVersionNumber, versionName } from './lineage.ts';

/** Why an item without a model can't be approved, by anybody. */
export function unseenReason(workflow: WorkflowName, id: string): string {
  return `no model has seen it; run agentos ${workflow} ${id} with a model`;
}

export interface UnseenWork {
  workflow: WorkflowName;
  input: Issue;
  template: string;
  /** The folder that its versions go to. */
  folder: string;
}

/**
 * What `offline` makes of an item that is not in its recordings: the template with the item's words, in the lineage and
 * nowhere else. The journal is not touched, so that a later run with models finds nothing of it.
 */
export async function leaveTemplate(
  { paths, emit, mask }: Pick<DocumentDependencies, 'paths' | 'emit' | 'mask'>,
  { workflow, input, template, folder }: UnseenWork,
): Promise<DocumentResult> {
  const { id, title, body, raw } = input;
  const note = `No model has seen this: it is the template with the words of ${id}. Run agentos ${workflow} ${id} with a model.`;
  const draft = mask(filledTemplate(template, { id, title, body, note }));
  const next = await nextVersionNumber(folder);
  const last = await readFile(join(folder, versionName(next - 1, 'draft')), 'utf8').catch(() => null);
  if (last !== draft) {
    const lineage = createLineage(folder, next, (path) =>
      emit({ type: 'file-written', path: relative(paths.repository, path), what: 'lineage' }),
    );
    await lineage.add('issue', mask(raw));
    await lineage.add('draft', draft);
  }
  return { status: 'discuss', reason: unseenReason(workflow, id), outputs: [folder] };
}
