import { AgentosError } from './errors.ts';
import type { RemoteSettings } from './remote-settings.ts';
import { Secret } from './secret.ts';

/** A service that holds issues and repositories. */
export type HostName = 'github' | 'gitlab';

/** `github:owner/name`; without a path: the repository that `origin` names. */
export interface HostedRepository {
  host: HostName;
  path: string | null;
}

/** Where issues come from; null: the folder `issues/`. */
export type SourceSetting = HostedRepository | null;

/** Which issues `--all` takes from a remote source. */
export interface Selection {
  /** Every one of these; empty: whatever labels it has. */
  labels: string[];
  milestone: string | null;
  assignee: string | null;
  /** In the words of the service's own search. */
  query: string | null;
  limit: number | null;
}

/** When a pull request stops being a draft. */
export const READY = ['green', 'at-once', 'never'] as const;
export type ReadyRule = (typeof READY)[number];

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
  /** Issues are commented and labelled. */
  comment: boolean;
  pr: { open: boolean; ready: ReadyRule };
  /** An issue that was written from a brief is created where issues come from. */
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

/** Opt in: nothing is done about an issue that a person did not label. */
export const DEFAULT_LABEL = 'agentos';

export const SERVICE_NAMES: Record<HostName, string> = { github: 'GitHub', gitlab: 'GitLab' };

/** Which of them come first. */
export const TOKEN_VARIABLES: Record<HostName, readonly string[]> = {
  github: ['GITHUB_TOKEN', 'GH_TOKEN'],
  gitlab: ['GITLAB_TOKEN'],
};

/** Tokens in the environment, whichever of them is used: none may be shown or handed on. */
export function environmentTokens(env: Readonly<Record<string, string | undefined>>): Secret[] {
  const values = Object.values(TOKEN_VARIABLES).flatMap((names) => names.map((name) => env[name]?.trim() ?? ''));
  return [...new Set(values)].filter((value) => value !== '').map((value) => new Secret(value));
}

const HOSTED = /^(github|gitlab)(?::([\w.-]+(?:\/[\w.-]+)+))?$/;

/** Undefined: it is neither `directory` nor a repository of a service. */
export function parseSource(text: string): SourceSetting | undefined {
  if (text === 'directory') return null;
  const [, host, path] = HOSTED.exec(text.trim()) ?? [];
  const isStray = path?.split('/').some((part) => part === '.' || part === '..') ?? false;
  if (host === undefined || isStray) return undefined;
  if (host === 'github' && path !== undefined && path.split('/').length !== 2) return undefined;
  return { host: host as HostName, path: path?.replace(/\.git$/, '') ?? null };
}

/** For messages, and as it is written: `github:acme/widget`. */
export function hostedName({ host, path }: HostedRepository): string {
  return path === null ? host : `${host}:${path}`;
}

/** Flags over file over environment, as for every other setting. */
export function resolveRemote(
  flags: RemoteFlags,
  file: RemoteSettings,
  env: Readonly<Record<string, string | undefined>>,
): RemoteConfig {
  const { select = {}, github = {}, gitlab = {}, pr = {} } = file;
  const query = flags.query ?? select.query ?? null;
  // A search says itself which labels it means.
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
    pr: { open: flags.pr ?? pr.open ?? false, ready: pr.ready ?? 'green' },
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
  throw new AgentosError({
    code: 'usage',
    reason: `"${text}" is not a source of issues.`,
    hint: 'Write directory, github:owner/name or gitlab:group/name; github or gitlab alone means the repository of origin.',
  });
}

const LOOPBACK = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/;

/** A token is sent there, so that it is never sent in the clear, but to this machine itself. */
function apiUrl(variable: string, given: string | undefined, usual: string): string {
  const text = given?.trim() || usual;
  const url = URL.parse(text);
  const isSafe = url?.protocol === 'https:' || (url?.protocol === 'http:' && LOOPBACK.test(url.hostname));
  if (url !== null && isSafe && url.username === '' && url.password === '') return text.replace(/\/+$/, '');
  throw new AgentosError({
    code: 'usage',
    reason: `${variable} is not an https URL without a user name.`,
    hint: `Write e.g. ${variable}=${usual}`,
  });
}
