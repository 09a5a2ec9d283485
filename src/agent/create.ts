import { AgentosError, type Problem } from '../core/errors.ts';
import {
  type AgentName,
  type AgentSpec,
  isAgent,
  type ModelSpec,
  parseModelSpec,
  type VendorSpec,
} from '../core/model-spec.ts';
import type { Usage } from '../core/money.ts';
import type { CallOptions, Provider } from '../models/port.ts';
import { createVendorProvider } from '../models/vendor.ts';
import { findProgram } from '../process/program.ts';
import { createCommandProvider, createCommandWriter } from './command.ts';
import type { Writer } from './port.ts';

/*
 * Who fills a role, by the name in the configuration.
 */

/** What agents need in addition. */
export interface AgentOptions extends CallOptions {
  /** The item's home. */
  home: string;
  /** The caches of package managers and compilers, which the items share; agents with a sandbox may write there. */
  caches?: string | undefined;
  /** Absent: all agents go through the gateway. */
  ownLogins?: OwnLogins | undefined;
  /** The folder for transcripts; absent: none are written. */
  transcripts?: string | undefined;
}

/** Agents that use the login of the person who runs us, instead of a key. */
export interface OwnLogins {
  agents: readonly AgentName[];
  /** Shared by all repositories of the person: an account serves one call at a time. */
  locks: string;
}

interface ProviderOptions extends CallOptions {
  /** Called with each line that a command writes to stderr. */
  onLine: (line: string) => void;
  offline: () => Provider;
  agent: (spec: AgentSpec) => Provider;
}

export function createProvider(spec: ModelSpec, options: ProviderOptions): Provider {
  if (isAgent(spec)) return options.agent(spec);
  if (spec.provider === 'offline') return options.offline();
  return spec.provider === 'command' ? createCommandProvider(spec, options) : vendorProvider(spec, options);
}

interface WriterOptions extends AgentOptions {
  /** The most rounds of the built-in agent in one call. */
  maxRounds: number;
  /** The price of what was used; null: not known. */
  costOf: (spec: string, usage: Usage) => number | null;
  offline: () => Writer;
}

/** The module of an agent, or of the built-in one, is loaded on its first call. */
export function createWriter(spec: ModelSpec, options: WriterOptions): Writer {
  if (spec.provider === 'offline') return options.offline();
  if (spec.provider === 'command') return createCommandWriter(spec, options);
  const isProgram = isAgent(spec);
  const load = async (): Promise<Writer> => {
    if (isProgram) return (await import('./programs/call.ts')).createAgentWriter(spec, options);
    return (await import('./built-in.ts')).createBuiltInWriter(vendorProvider(spec, options), options);
  };
  return {
    spec: spec.text,
    isModel: true,
    writesByItself: isProgram,
    write: async (request) => (await load()).write(request),
  };
}

/** Through the gateway, which has an endpoint for every vendor that the run uses. */
function vendorProvider(spec: VendorSpec, { token, endpointOf, idleTimeoutMs, ceilingMs }: CallOptions): Provider {
  const endpoint = endpointOf(spec.provider);
  if (endpoint === undefined)
    throw new AgentosError({ code: 'internal', detail: `the gateway has no endpoint for ${spec.text}` });
  return createVendorProvider({ spec, token, endpoint, idleTimeoutMs, ceilingMs });
}

/** The program of each agent, and the command that installs it. */
export const AGENT_PROGRAMS: Readonly<Record<AgentName, { program: string; install: string }>> = {
  'claude-code': { program: 'claude', install: 'npm install -g @anthropic-ai/claude-code' },
  codex: { program: 'codex', install: 'npm install -g @openai/codex' },
  'gemini-cli': { program: 'gemini', install: 'npm install -g @google/gemini-cli' },
  opencode: { program: 'opencode', install: 'npm install -g opencode-ai' },
  // It starts the command of the agent.
  acp: { program: 'sh', install: 'install a shell' },
};

/** The problem of a model whose agent is not installed; null for any other model. */
export async function missingAgent(model: string, path: string | undefined): Promise<Problem | null> {
  const spec = parseModelSpec(model);
  if (!isAgent(spec) || spec.command !== null) return null;
  const { program, install } = AGENT_PROGRAMS[spec.provider];
  if ((await findProgram(program, path)) !== null) return null;
  return { code: 'agent-missing', agent: spec.provider, program, install };
}
