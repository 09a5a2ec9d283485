import { formatDuration } from './duration.ts';
import type { Words } from './implementation-problems.ts';
import { listed, shorten, statusText } from './lines.ts';
import { SERVICE_NAMES } from './remote.ts';

const TOKENS = {
  github:
    'Set GITHUB_TOKEN or GH_TOKEN, log in with gh auth login, or name a GitHub App as github.app in agentos.yaml.',
  gitlab: 'Set GITLAB_TOKEN to a token with the scope api.',
};
/** Like `HostName`, so that the published types need no other file. */
type Host = keyof typeof TOKENS;

const AGAIN = 'Run the same command again later.';

type NotTaken = 'closed' | 'locked' | 'pull-request' | 'deleted' | 'transferred' | 'unlabelled' | 'withheld';

const NOT_TAKEN: Record<NotTaken, string> = {
  closed: 'it is closed',
  locked: 'it is locked',
  'pull-request': 'it is a pull request',
  deleted: 'it was deleted',
  transferred: 'it was transferred to another repository',
  unlabelled: 'it no longer has the label',
  withheld: 'it is withheld for legal reasons',
};

/** What can go wrong with GitHub and GitLab: see `core/wording.ts`. */
export const HOST_PROBLEMS = {
  'host-token-missing': (p: { host: Host }) => [`There is no token for ${SERVICE_NAMES[p.host]}.`, TOKENS[p.host]],
  'host-token-unusable': (p: { host: Host; reason: string }) => [
    `Can't get a token for ${SERVICE_NAMES[p.host]}: ${p.reason}`,
    TOKENS[p.host],
  ],
  'host-token-rejected': (p: { host: Host; detail: string }) => [
    `${SERVICE_NAMES[p.host]} does not accept the token (401): ${p.detail}`,
    `It may be expired or revoked. ${TOKENS[p.host]}`,
  ],
  'host-scope-missing': (p: { host: Host; what: string; needs: string[]; detail: string }) => [
    `The token for ${SERVICE_NAMES[p.host]} may not ${p.what}: ${p.needs.length === 0 ? p.detail : `it lacks ${p.needs.join(' or ')}`}.`,
    'Give the token that permission, or use another one.',
  ],
  'host-not-found': (p: { host: Host; what: string }) => [
    `${SERVICE_NAMES[p.host]} has no ${p.what}, or the token may not see it (404).`,
    'Check the name. A private repository needs a token with access to it.',
  ],
  'host-archived': (p: { host: Host; repository: string }) => [
    `${p.repository} on ${SERVICE_NAMES[p.host]} is archived: nothing can be written there.`,
    'Run without --comment, --pr and --create, or unarchive it.',
  ],
  'host-limited': (p: { host: Host; forMs: number | null; detail: string }) => [
    `${SERVICE_NAMES[p.host]} refuses further requests: ${p.detail}`,
    p.forMs === null
      ? AGAIN
      : `Retry in ${formatDuration(p.forMs)}, or allow a longer wait with bounds.maxQuotaWait in agentos.yaml.`,
  ],
  'host-unreachable': (p: { host: Host; status: number | null; detail: string }) => [
    `${SERVICE_NAMES[p.host]} can't be read${statusText(p.status)}: ${p.detail}`,
    AGAIN,
  ],
  'host-uncertain': (p: { host: Host; what: string; detail: string }) => [
    `${SERVICE_NAMES[p.host]} did not confirm whether it could ${p.what}: ${p.detail}`,
    'Run the same command again: it first checks what was done.',
  ],
  'host-refused': (p: { host: Host; what: string; status: number; detail: string }) => [
    `${SERVICE_NAMES[p.host]} refused to ${p.what} (${p.status}): ${p.detail}`,
    'Fix the reason, then run the same command again.',
  ],
  'repository-unnamed': (p: { host: Host | null; origin: string | null }) => {
    const service = p.host === null ? 'GitHub or GitLab' : SERVICE_NAMES[p.host];
    const origin = p.origin === null ? 'there is no remote origin' : `origin is ${shorten(p.origin)}`;
    const [example, setting] = [p.host ?? 'github', p.host === null ? 'forge' : 'source'];
    return [
      `Can't tell which repository on ${service} is meant: ${origin}.`,
      `Name it in agentos.yaml: ${setting}: ${example}:owner/name${p.host === null ? '' : `, or with --source ${example}:owner/name`}`,
    ];
  },
  'issue-not-taken': (p: { id: string; where: string; why: NotTaken }) => [
    `${p.where}#${p.id} can't be taken: ${NOT_TAKEN[p.why]}.`,
    'Only open issues are taken; --all takes those with the label.',
  ],
  'issue-blocked': (p: { id: string; by: string[]; count: number }) => [
    `${p.id} is blocked by ${p.by.length === 0 ? `${p.count} open issue(s)` : listed(p.by)}.`,
    'It is taken when they are closed.',
  ],
  'branch-foreign': (p: { branch: string; remote: string }) => [
    `${p.branch} on ${p.remote} has commits that are not in the local branch, so it is not overwritten.`,
    `Merge them, or rename the local branch, then run the same command again. See: git fetch ${p.remote} ${p.branch}`,
  ],
} satisfies Record<string, (facts: never) => Words>;
