import { AgentosError } from '../core/errors.ts';
import { isAgent, parseModelSpec } from '../core/model-spec.ts';
import type { PlannedItem } from '../core/plan.ts';
import { findSandbox, withoutSandbox } from '../process/sandbox/find.ts';
import type { SandboxTool } from '../process/sandbox/sandbox.ts';
import { type Cast, type Pipeline, stagesAhead } from './pipeline.ts';
import type { Project } from './project.ts';

/** What the programs of a run's items run in. Rejects where a sandbox is required and missing. */
export async function openRunSandbox(
  { config: { sandbox }, childEnv, paths }: Project,
  startsPrograms: boolean,
): Promise<{ tool: SandboxTool | null; warnings: string[] }> {
  if (sandbox.mode === 'off' || (sandbox.mode === 'auto' && !startsPrograms)) return { tool: null, warnings: [] };
  const found = await findSandbox(childEnv, paths.repository);
  if (found.tool !== null) return { tool: found.tool, warnings: [] };
  const { reason, todo } = found;
  if (sandbox.mode === 'on') throw new AgentosError({ code: 'sandbox-missing', reason, todo });
  return { tool: null, warnings: [withoutSandbox(found)] };
}

/** Whether set-up, tests, agents or commands may run for these items. */
export function startsPrograms(pipeline: Pipeline, open: readonly PlannedItem[], casts: readonly Cast[]): boolean {
  const isProgram = (model: string): boolean => {
    const spec = parseModelSpec(model);
    return spec.provider === 'command' || isAgent(spec);
  };
  return (
    stagesAhead(pipeline, open).some(({ workflow }) => ['implement', 'land', 'react'].includes(workflow)) ||
    casts.some(({ config, roles }) => roles.some((role) => isProgram(config.models[role])))
  );
}
