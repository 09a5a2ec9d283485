import { readFile } from 'node:fs/promises';
import type { AgentosEvent } from '../../core/events.ts';
import type { ItemId } from '../../core/ids.ts';
import { parseJson } from '../../core/json.ts';
import type { RunPaths, WorkflowName } from '../../core/paths.ts';

export type ItemAgentosEvent = Extract<AgentosEvent, { item: string }>;

/** What the audit file of an item in one run says, in its order; empty where there is no such file. */
export async function auditedEvents(run: RunPaths, workflow: WorkflowName, id: ItemId): Promise<ItemAgentosEvent[]> {
  const text = await readFile(run.audit(workflow, id), 'utf8').catch(() => '');
  return text.split('\n').flatMap((line) => {
    const event = line === '' ? null : parseJson(line);
    return isEvent(event) ? [event] : [];
  });
}

/** Written by this program, by this version or another: who reads a field of it has to bear that it is missing. */
function isEvent(value: unknown): value is ItemAgentosEvent {
  return typeof value === 'object' && value !== null && 'type' in value && 'at' in value && 'item' in value;
}
