import type { Problem } from '../../core/errors.ts';
import { type AgentName, isAgent, parseModelSpec } from '../../core/model-spec.ts';
import { findProgram } from '../../process/program.ts';
import { acp } from './acp.ts';
import type { Agent } from './agent.ts';
import { claudeCode } from './claude-code.ts';
import { codex } from './codex.ts';
import { geminiCli } from './gemini-cli.ts';
import { opencode } from './opencode.ts';

export const AGENTS: Record<AgentName, Agent> = {
  'claude-code': claudeCode,
  codex,
  'gemini-cli': geminiCli,
  opencode,
  acp,
};

/** The problem of a model whose agent is not installed; null for any other model. */
export async function missingAgent(model: string, path: string | undefined): Promise<Problem | null> {
  const spec = parseModelSpec(model);
  if (!isAgent(spec) || spec.command !== null) return null;
  const { name, program, install } = AGENTS[spec.provider];
  if ((await findProgram(program, path)) !== null) return null;
  return { code: 'agent-missing', agent: name, program, install };
}
