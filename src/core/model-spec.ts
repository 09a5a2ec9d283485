import { AgentosError } from './errors.ts';
import { VENDORS, type VendorName } from './keys.ts';
import { nearest } from './nearest.ts';

/** Who drafts, reviews or implements. `text` is the canonical form for run files, lineage and messages. */
export type ModelSpec = VendorSpec | CommandSpec | AgentSpec | OfflineSpec;

export interface AgentSpec {
  provider: AgentName;
  /** Null: the agent's own default. */
  model: string | null;
  /** The vendor whose API and keys it uses; null: unknown. */
  vendor: VendorName | null;
  /** The command that starts it; null: the program of the same name. */
  command: string | null;
  text: string;
}

export type AgentName = 'claude-code' | 'codex' | 'gemini-cli' | 'opencode' | 'acp';

/** The vendor of an agent whose model names none. */
const AGENT_VENDORS: Record<Exclude<AgentName, 'acp'>, VendorName> = {
  'claude-code': 'anthropic',
  codex: 'openai',
  'gemini-cli': 'google',
  opencode: 'anthropic',
};

export interface VendorSpec {
  provider: VendorName;
  model: string;
  text: string;
}

export interface CommandSpec {
  provider: 'command';
  command: string;
  text: string;
}

interface OfflineSpec {
  provider: 'offline';
  text: 'offline';
}

const AGENT_NAMES = Object.keys(AGENT_VENDORS) as (keyof typeof AGENT_VENDORS)[];

const POSSIBLE = `use anthropic:<model>, google:<model>, openai:<model>, openai-compatible:<model>, ${AGENT_NAMES.join(', ')}, acp:<shell command>, command:<shell command> or offline`;

/** Model families that show which vendor was meant. */
const MEANT: readonly (readonly [pattern: RegExp, vendor: VendorName])[] = [
  [/^claude/i, 'anthropic'],
  [/^gemini/i, 'google'],
  [/^(gpt-|chatgpt|o\d)/i, 'openai'],
];

export function isAgent(spec: ModelSpec): spec is AgentSpec {
  return spec.provider === 'acp' || spec.provider in AGENT_VENDORS;
}

/** The vendor whose keys a model needs; null: none. */
export function vendorOf(spec: ModelSpec): VendorName | null {
  if (isAgent(spec)) return spec.vendor;
  return spec.provider === 'offline' || spec.provider === 'command' ? null : spec.provider;
}

/** Like `vendorOf`, but null for an agent that uses its own login. */
export function keyVendorOf(spec: ModelSpec, ownLogins: readonly AgentName[]): VendorName | null {
  return isAgent(spec) && ownLogins.includes(spec.provider) ? null : vendorOf(spec);
}

export function parseModelSpec(text: string): ModelSpec {
  const trimmed = text.trim();
  const colon = trimmed.indexOf(':');
  const provider = colon === -1 ? trimmed : trimmed.slice(0, colon);
  const rest = colon === -1 ? null : trimmed.slice(colon + 1).trim();
  const invalid = (reason: string): AgentosError =>
    new AgentosError({ code: 'model-spec-invalid', spec: trimmed, reason });

  if (trimmed === '') throw invalid(`it is empty; ${POSSIBLE}`);
  if (provider === 'offline') {
    if (rest !== null) throw invalid('offline takes no model: write just offline');
    return { provider: 'offline', text: 'offline' };
  }
  if (provider === 'command' || provider === 'acp') {
    if (!rest) throw invalid(`the shell command is missing: write ${provider}:<shell command>`);
    if (rest.includes('\0')) throw invalid('the shell command holds a NUL character');
    const text = `${provider}:${rest}`;
    if (provider === 'command') return { provider, command: rest, text };
    return { provider, model: null, vendor: null, command: rest, text };
  }
  const agent = AGENT_NAMES.find((name) => name === provider);
  if (agent !== undefined && rest === null) return agentSpec(agent, null, agent);
  const vendor = VENDORS.find((name) => name === provider);
  const known = agent ?? vendor;
  if (known === undefined) throw invalid(`${guess(trimmed, provider, rest)}${POSSIBLE}`);
  if (!rest) throw invalid(`the model is missing: write ${agent ? `${agent} or ` : ''}${known}:<model>`);
  if (/\s|\p{Cc}/u.test(rest)) throw invalid('the name of a model has no spaces in it');
  // A program that gets it as an argument could take it for an option.
  if (rest.startsWith('-')) throw invalid('the name of a model does not begin with a hyphen');
  if (agent === 'opencode') return opencodeSpec(rest, invalid);
  const canonical = `${known}:${rest}`;
  if (agent !== undefined) return agentSpec(agent, rest, canonical);
  return { provider: known as VendorName, model: rest, text: canonical };
}

function agentSpec(provider: keyof typeof AGENT_VENDORS, model: string | null, text: string): AgentSpec {
  return { provider, model, vendor: AGENT_VENDORS[provider], command: null, text };
}

/** opencode uses several vendors: the model names one, as in opencode itself. */
function opencodeSpec(name: string, invalid: (reason: string) => AgentosError): AgentSpec {
  const vendor = VENDORS.find((each) => name.startsWith(`${each}/`));
  const model = vendor === undefined ? '' : name.slice(vendor.length + 1);
  if (vendor === undefined || vendor === 'openai-compatible' || model === '')
    throw invalid('write opencode:anthropic/<model>, opencode:openai/<model> or opencode:google/<model>');
  return { provider: 'opencode', model, vendor, command: null, text: `opencode:${name}` };
}

function guess(text: string, provider: string, rest: string | null): string {
  const suggest = (spec: string): string => `did you mean ${spec}? Otherwise: `;
  const slash = VENDORS.find((vendor) => text.startsWith(`${vendor}/`));
  if (slash !== undefined) return suggest(`${slash}:${text.slice(slash.length + 1)}`);
  const family = MEANT.find(([pattern]) => pattern.test(provider));
  if (family !== undefined) return suggest(`${family[1]}:${rest ?? text}`);
  const near = nearest(provider, [...VENDORS, ...AGENT_NAMES, 'acp', 'command', 'offline'])[0];
  if (near === undefined) return `${provider} is unknown; `;
  return suggest(rest === null ? near : `${near}:${rest}`);
}

/**
 * Whether the model that answered is the one we asked for. An alias and a dated snapshot of it are the same; two different snapshots
 * are not. A version number (`-4`, `-4-5`) or a size (`-mini`, `-flash`) is never a snapshot.
 */
export function sameModel(asked: string, answered: string): boolean {
  const a = readModelName(asked);
  const b = readModelName(answered);
  return a.family === b.family && (a.snapshot === null || b.snapshot === null || a.snapshot === b.snapshot);
}

const SNAPSHOT = new RegExp(
  [
    '20\\d\\d-?\\d\\d-?\\d\\d', // claude-sonnet-4-5-20250929, gpt-5-2025-08-07
    '(?<=-(?:preview|exp)-)\\d\\d-\\d\\d(?:\\d\\d)?', // gemini-2.5-pro-preview-05-20, gemini-2.5-flash-preview-09-2025
    '(?<=-)\\d{4}', // gpt-4-0613, mistral-large-2411
    '(?<=-)0\\d\\d', // gemini-2.0-flash-001
  ]
    .map((form) => `(?:${form})`)
    .join('|'),
);
const AT_END = new RegExp(`-(${SNAPSHOT.source})(?:-(?:preview|exp))?$`);

function readModelName(name: string): { family: string; snapshot: string | null } {
  const plain = name
    .trim()
    .toLowerCase()
    .replace(/^.*\//, '') // models/gemini-…, anthropic/claude-…
    .replaceAll(/[.@]/g, '-') // claude-sonnet-4.5 and claude-sonnet-4@20250514, as some resellers write
    .replace(/[:-]latest$/, '');
  const snapshot = AT_END.exec(plain)?.[1]?.replaceAll('-', '') ?? null;
  const family = plain
    .replace(AT_END, '')
    .replace(/-(?:preview|exp)$/, '')
    .replace(/-0$/, ''); // claude-sonnet-4-0 is claude-sonnet-4
  return { family, snapshot };
}
