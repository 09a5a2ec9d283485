import type { ConfigFile } from './config-file.ts';
import { usageError } from './errors.ts';
import type { Environment } from './keys.ts';
import { REACT_KINDS, type ReactKind } from './reaction.ts';
import { Secret } from './secret.ts';

/** A service with issues and repositories. */
export type HostName = 'github' | 'gitlab';

/** `github:owner/name`; `path` null: the repository of `origin`. */
export interface HostedRepository {
  host: HostName;
  path: string | null;
}

/** Where issues come from; null: the folder `issues/`. */
type SourceSetting = HostedRepository | null;

/** Which issues `--all` takes from a remote source. */
export interface Selection {
  /** An issue must have all of these. */
  labels: string[];
  milestone: string | null;
  assignee: string | null;
  /** A search query of the service. */
  query: string | null;
  limit: number | null;
}

/** When a pull request stops being a draft. */
export const READY = ['green', 'at-once', 'never'] as const;
type ReadyRule = (typeof READY)[number];

export interface GitHubApp {
  id: string;
  installation: string;
  keyFile: string;
}

/** Issues from a service, and what is written back to it. */
export interface RemoteConfig {
  source: SourceSetting;
  /** Where branches and pull requests go; null: to the repository of `origin`, else to that of the issues. */
  forge: HostedRepository | null;
  select: Selection;
  /** Comment on issues and label them. */
  comment: boolean;
  pr: { open: boolean; ready: ReadyRule; react: readonly ReactKind[] };
  /** Create an issue that was written from a brief where issues come from. */
  create: boolean;
  apiUrls: Record<HostName, string>;
  app: GitHubApp | null;
}

export interface RemoteFlags {
  source?: string | undefined;
  label?: string | undefined;
  milestone?: string | undefined;
  assignee?: string | undefined;
  query?: string | undefined;
  limit?: number | undefined;
  comment?: boolean | undefined;
  pr?: boolean | undefined;
  create?: boolean | undefined;
}

/** Opt-in: only issues that a person labelled are taken. */
export const DEFAULT_LABEL = 'agentos';

export const SERVICE_NAMES: Record<HostName, string> = { github: 'GitHub', gitlab: 'GitLab' };

/** In the order of preference. */
export const TOKEN_VARIABLES: Record<HostName, readonly string[]> = {
  github: ['GITHUB_TOKEN', 'GH_TOKEN'],
  gitlab: ['GITLAB_TOKEN'],
};

/** All tokens in the environment, used or not: none may be shown or passed on. */
export function environmentTokens(env: Environment): Secret[] {
  const values = Object.values(TOKEN_VARIABLES).flatMap((names) => names.map((name) => env[name]?.trim() ?? ''));
  return [...new Set(values)].filter((value) => value !== '').map((value) => new Secret(value));
}

const HOSTED = /^(github|gitlab)(?::([\w.-]+(?:\/[\w.-]+)+))?$/;

/** Undefined: neither `directory` nor a repository of a service. */
export function parseSource(text: string): SourceSetting | undefined {
  if (text === 'directory') return null;
  const [, host, path] = HOSTED.exec(text.trim()) ?? [];
  const isStray = path?.split('/').some((part) => part === '.' || part === '..') ?? false;
  if (host === undefined || isStray) return undefined;
  if (host === 'github' && path !== undefined && path.split('/').length !== 2) return undefined;
  return { host: host as HostName, path: path?.replace(/\.git$/, '') ?? null };
}

/** `github:acme/widget` */
export function hostedName({ host, path }: HostedRepository): string {
  return path === null ? host : `${host}:${path}`;
}

/** Flags over file over environment, as for every other setting. */
export function resolveRemote(flags: RemoteFlags, file: ConfigFile, env: Environment): RemoteConfig {
  const { select = {}, github = {}, gitlab = {}, pr = {} } = file;
  const query = flags.query ?? select.query ?? null;
  // A search query names its labels itself.
  const label = flags.label ?? select.label ?? (query === null ? DEFAULT_LABEL : '');
  const { app } = github;
  return {
    source: sourceNamed(flags.source ?? file.source),
    forge: sourceNamed(file.forge),
    select: {
      labels: label
        .split(',')
        .map((one) => one.trim())
        .filter((one) => one !== ''),
      milestone: flags.milestone ?? select.milestone ?? null,
      assignee: flags.assignee ?? select.assignee ?? null,
      query,
      limit: flags.limit ?? select.limit ?? null,
    },
    comment: flags.comment ?? file.comment ?? false,
    pr: { open: flags.pr ?? pr.open ?? false, ready: pr.ready ?? 'green', react: pr.react ?? REACT_KINDS },
    create: flags.create ?? false,
    apiUrls: {
      github: apiUrl('GITHUB_API_URL', github.apiUrl ?? env['GITHUB_API_URL'], 'https://api.github.com'),
      gitlab: apiUrl('GITLAB_API_URL', gitlab.apiUrl ?? env['GITLAB_API_URL'], 'https://gitlab.com/api/v4'),
    },
    app:
      app === undefined ? null : { id: String(app.id), installation: String(app.installation), keyFile: app.keyFile },
  };
}

function sourceNamed(text: string | undefined): SourceSetting {
  const source = text === undefined ? null : parseSource(text);
  if (source !== undefined) return source;
  throw usageError(
    `"${text}" is not a source of issues.`,
    'Write directory, github:owner/name or gitlab:group/name; github or gitlab alone means the repository of origin.',
  );
}

const LOOPBACK = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/;

/** A token is sent there, so it must be https, except on this machine. */
function apiUrl(variable: string, given: string | undefined, usual: string): string {
  const text = given?.trim() || usual;
  const url = URL.parse(text);
  const isSafe = url?.protocol === 'https:' || (url?.protocol === 'http:' && LOOPBACK.test(url.hostname));
  if (url !== null && isSafe && url.username === '' && url.password === '') return text.replace(/\/+$/, '');
  throw usageError(`${variable} is not an https URL without a user name.`, `Write e.g. ${variable}=${usual}`);
}
