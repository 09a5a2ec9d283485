import type { AgentName } from '../../core/model-spec.ts';
import type { Agent } from './agent.ts';
import { claudeCode } from './claude-code.ts';
import { codex } from './codex.ts';
import { geminiCli } from './gemini-cli.ts';

export const AGENTS: Record<AgentName, Agent> = { 'claude-code': claudeCode, codex, 'gemini-cli': geminiCli };
