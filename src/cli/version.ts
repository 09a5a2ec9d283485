/*
 * What this file and the two entries that import it statically contain has to load on old versions of Node: no import of
 * `node:sqlite`, no syntax newer than that. Everything else is imported after the check.
 */

/** As in package.json under engines. */
export const NEEDED_NODE = '24.16';

/** What is wrong with a Node that is too old, in one line; null: it is new enough. */
export function oldNodeMessage(version: string): string | null {
  const [major = 0, minor = 0] = version.replace(/^v/, '').split('.').map(Number);
  const [neededMajor = 0, neededMinor = 0] = NEEDED_NODE.split('.').map(Number);
  if (major > neededMajor || (major === neededMajor && minor >= neededMinor)) return null;
  return `agentos needs Node ${NEEDED_NODE} or newer, this is ${version}. Install it from https://nodejs.org or with your version manager (e.g. nvm install ${neededMajor}), then try again.`;
}

/** Ends the process with the exit code for usage if its Node is too old. */
export function refuseOldNode(): void {
  const message = oldNodeMessage(process.version);
  if (message === null) return;
  process.stderr.write(`${message}\n`);
  process.exit(2);
}

declare const AGENTOS_VERSION: string | undefined;

/** Set by the build; the tests run the sources too. */
export const version = typeof AGENTOS_VERSION === 'string' ? AGENTOS_VERSION : '0.0.0-source';
