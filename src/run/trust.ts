import { lstat, readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import type { ConfigFile } from '../core/config-file.ts';
import { AgentosError } from '../core/errors.ts';
import { sha256 } from '../core/hash.ts';
import type { Environment } from '../core/keys.ts';
import { isInside } from '../core/paths.ts';
import { printable } from '../output/terminal.ts';
import { namesInside, readText, writeFileAtomic } from '../process/files.ts';
import { userId } from '../process/state-folder.ts';
import type { Project } from './project.ts';

/** Something that a repository's files would make us execute, redirect or hand over. */
export interface Claim {
  /** E.g. `runs`. */
  effect: string;
  /** The setting or file, e.g. `tests.command`. */
  where: string;
  value: string;
}

/** The claims of the repository's own files. A configuration outside was named by the user, and needs no trust. */
export function claimsOf({ configFile, settings, paths }: Project): Claim[] {
  const isOwn = configFile !== null && isInside(paths.repository, configFile);
  return [...(isOwn ? claimsOfSettings(settings) : []), ...claimsOfPrompts(paths)];
}

/** Whether a model is a shell command. */
export function namesProgram(model: string): boolean {
  return /^\s*(?:command|acp)\s*:/.test(model);
}

export function claimsOfSettings(file: ConfigFile): Claim[] {
  const { models = {}, agents = {}, endpoints = {}, keys = {}, passEnvironment = [], tests, implement, sandbox } = file;
  const claims: Claim[] = [];
  const add = (effect: string, where: string, value: string | readonly string[] | false | undefined): void => {
    const text = typeof value === 'string' ? value : (value || []).join(', ');
    if (text !== '') claims.push({ effect, where, value: text });
  };
  for (const [role, model] of Object.entries(models))
    if (namesProgram(model ?? '')) add('runs', `models.${role}`, model);
  for (const [agent, { login } = {}] of Object.entries(agents))
    if (login === 'agent') add('uses your login of', `agents.${agent}.login`, agent);
  for (const [vendor, url] of Object.entries(endpoints)) add('sends keys to', `endpoints.${vendor}`, url);
  for (const [vendor, names] of Object.entries(keys)) add('takes as keys the variables', `keys.${vendor}`, names);
  add('shows agents and tests the variables', 'passEnvironment', passEnvironment);
  if (sandbox?.mode === 'off') add('turns off', 'sandbox.mode', 'the sandbox');
  add('lets the set-up reach', 'sandbox.hosts', sandbox?.hosts);
  add('lets commands reach', 'sandbox.modelHosts', sandbox?.modelHosts);
  add('runs', 'tests.command', tests?.command);
  add('runs', 'implement.setup', implement?.setup);
  add('copies from your checkout', 'implement.copy', implement?.copy);
  add('sends your GitHub token to', 'github.apiUrl', file.github?.apiUrl);
  add('signs with the key in', 'github.app.keyFile', file.github?.app?.keyFile);
  add('sends your GitLab token to', 'gitlab.apiUrl', file.gitlab?.apiUrl);
  const written = [file.comment ? file.source : undefined, file.pr?.open ? file.forge : undefined];
  for (const place of new Set(written))
    if (place?.includes(':')) add('writes with your token to', 'source, forge', place);
  return claims;
}

function claimsOfPrompts({ repository, prompts }: Project['paths']): Claim[] {
  const names = namesInside(prompts, repository).filter((name) => name.endsWith('.md'));
  return names.map((name) => {
    const text = readText(join(prompts, name), prompts) ?? '';
    const where = join(prompts, name).slice(repository.length + 1);
    return { effect: 'tells the models', where, value: `${text.length} characters, ${sha256(text).slice(0, 32)}` };
  });
}

/** The only file that we write outside of repositories, and only if a person agrees. */
function trustFile(env: Environment): string {
  const given = env['XDG_CONFIG_HOME'] ?? '';
  const home = env['HOME'] || homedir();
  return join(isAbsolute(given) ? given : join(home, '.config'), 'agentos', 'trust.json');
}

/** By the repository's real path. */
type Trusted = Record<string, { hash: string; since: string } | undefined>;

export async function isTrusted(project: Project, claims: readonly Claim[]): Promise<boolean> {
  if (claims.length === 0) return true;
  return (await readTrust(trustFile(project.env)))[project.paths.repository]?.hash === hashOf(claims);
}

/** To be called before requests to a service. Throws `untrusted`. */
export async function requireTrusted(project: Project): Promise<void> {
  const claims = claimsOf(project);
  if (!claims.some(({ where }) => OF_TOKENS.test(where)) || (await isTrusted(project, claims))) return;
  throw new AgentosError({ code: 'untrusted', claims: claims.map(claimText), command: 'agentos trust' });
}

const OF_TOKENS = /^(?:github|gitlab)\./;

/** On one line. */
export function claimText({ effect, where, value }: Claim): string {
  return printable(`${effect} ${value.replaceAll(/\s*\n\s*/g, ' ↵ ')} (${where})`);
}

export async function rememberTrust(project: Project, claims: readonly Claim[]): Promise<string> {
  return change(project, { hash: hashOf(claims), since: new Date().toISOString() });
}

/** Null: it was not trusted, and nothing is written. */
export async function revokeTrust(project: Project): Promise<string | null> {
  const isKnown = Object.hasOwn(await readTrust(trustFile(project.env)), project.paths.repository);
  return isKnown ? change(project, undefined) : null;
}

/** Covers all claims and their order, so any added, changed or moved setting needs trust again. */
function hashOf(claims: readonly Claim[]): string {
  return sha256(JSON.stringify(claims));
}

async function change({ env, paths }: Project, trusted: Trusted[string]): Promise<string> {
  const file = trustFile(env);
  const repositories = { ...(await readTrust(file)), [paths.repository]: trusted };
  await writeFileAtomic(file, `${JSON.stringify({ repositories }, null, 2)}\n`);
  return file;
}

/** Ignores a file that does not belong to the user, or that others can write. */
async function readTrust(file: string): Promise<Trusted> {
  try {
    const found = await lstat(file);
    if (!found.isFile() || found.uid !== userId() || (found.mode & 0o022) !== 0) return {};
    const { repositories } = JSON.parse(await readFile(file, 'utf8')) as { repositories?: Trusted };
    return typeof repositories === 'object' && repositories !== null ? repositories : {};
  } catch {
    return {};
  }
}
