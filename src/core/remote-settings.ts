import { z } from 'zod';
import { REACT_KINDS } from './reaction.ts';
import { parseSource, READY } from './remote.ts';

const apiUrl = z.url({ protocol: /^https?$/, error: 'is not a URL such as https://host/api/v3' });

const place = z.string().refine((text) => parseSource(text) !== undefined, {
  error: 'is not directory, github:owner/name or gitlab:group/name',
});

const selection = z.strictObject({
  label: z.string().optional().describe('only issues with this label, or with all of several (default agentos)'),
  milestone: z.string().min(1).optional().describe('only issues of this milestone'),
  assignee: z.string().min(1).optional().describe('only issues of this person'),
  query: z.string().min(1).optional().describe('a search query of the service, in place of the default label'),
  limit: z.int().min(1).optional().describe('at most this many'),
});

/** Settings of `agentos.yaml` for issues from a service, and for what is written back to it. */
export const REMOTE_SETTINGS = {
  source: place
    .optional()
    .describe('Where issues come from: directory (issues/, the default), github[:owner/name] or gitlab[:group/name].'),
  forge: place
    .refine((text) => text !== 'directory', { error: 'is not a repository of a service' })
    .optional()
    .describe('Where branches and pull requests go (default: the repository of origin, else that of the issues).'),
  select: selection.optional().describe('Which issues --all takes from a service.'),
  comment: z.boolean().optional().describe('One comment on each issue, edited in place, and labels (default false).'),
  pr: z
    .strictObject({
      open: z.boolean().optional().describe('a pull request for each implementation (default false)'),
      ready: z
        .enum(READY)
        .optional()
        .describe('when it stops being a draft: green gates and required checks (default), at-once, never'),
      react: z
        .array(z.enum(REACT_KINDS))
        .optional()
        .describe('what agentos react and watch react to (default: failed checks, reviews, a moved base)'),
    })
    .optional()
    .describe('Pull requests.'),
  github: z
    .strictObject({
      apiUrl: apiUrl.optional().describe('of GitHub Enterprise, e.g. https://host/api/v3'),
      app: z
        .strictObject({
          id: z.union([z.int(), z.string().min(1)]),
          installation: z.union([z.int(), z.string().regex(/^\d+$/)]),
          keyFile: z.string().min(1).describe('the private key, as GitHub lets you download it'),
        })
        .optional()
        .describe('work as a GitHub App instead of with a token'),
    })
    .optional(),
  gitlab: z
    .strictObject({ apiUrl: apiUrl.optional().describe('of your own GitLab, e.g. https://host/api/v4') })
    .optional(),
};

const remoteSettings = z.strictObject(REMOTE_SETTINGS);

export type RemoteSettings = z.infer<typeof remoteSettings>;
