import type { Problem } from '../../core/errors.ts';
import { isAgent, parseWriterSpec } from '../../core/model-spec.ts';
import { AGENTS } from './agents.ts';
import { findProgram } from './find-program.ts';

/** What is missing for an implementer that is an agent; null for one that is there, and for any other. */
export async function missingAgent(implementer: string, path: string | undefined): Promise<Problem | null> {
  const spec = parseWriterSpec(implementer);
  if (!isAgent(spec)) return null;
  const { name, program, install } = AGENTS[spec.provider];
  if ((await findProgram(program, path)) !== null) return null;
  return { code: 'agent-missing', agent: name, program, install };
}
