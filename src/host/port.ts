import type { HostName } from '../core/remote.ts';
import type { Secret } from '../core/secret.ts';

/** What talks to a service needs to know of the program around it. */
export interface HostOptions {
  host: HostName;
  apiUrl: string;
  /** The token is a GitHub App's. */
  isApp: boolean;
  token: () => Promise<Secret>;
  /** More tries of a request that only reads. */
  maxRetries: number;
  /** Longer waits for a limit are not begun. */
  maxWaitMs: number;
  /** A wait that begins now, for people. */
  onWait: (text: string) => void;
}

/** A repository as its service describes it. */
export interface RepositoryFacts {
  /** Its name as it is now: repositories move. */
  path: string;
  webUrl: string;
  defaultBranch: string;
  isArchived: boolean;
  /** Null: the service does not say. */
  canPush: boolean | null;
}
