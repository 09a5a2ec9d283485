import { z } from 'zod';
import { codeOf } from '../core/errors.ts';
import type { GitHubClient } from '../host/github-client.ts';

const user = z.looseObject({ login: z.string(), type: z.string().optional() });

export interface GitHubViewer {
  /** Null: a token of an app has no user; what is by a bot may be its own then. */
  name: () => Promise<string | null>;
  isOwn: (by: z.infer<typeof user> | null | undefined) => Promise<boolean>;
}

/** Whose token it is: what that user has posted may be ours. */
export function createGitHubViewer(client: GitHubClient): GitHubViewer {
  let viewer: Promise<string | null> | null = null;
  const name = (): Promise<string | null> =>
    (viewer ??= client.get({ what: 'read whose token it is', route: 'GET /user' }, user).then(
      ({ login }) => login,
      (error: unknown) => {
        if (codeOf(error) !== 'host-scope-missing' && codeOf(error) !== 'host-not-found') throw error;
        return null;
      },
    ));
  return {
    name,
    async isOwn(by) {
      const own = await name();
      return own === null ? by?.type === 'Bot' : by?.login === own;
    },
  };
}
