import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { goChangedFile, goNewPackage } from '../support/languages/go.ts';
import { JAVASCRIPT_RUNNERS } from '../support/languages/javascript-runners.ts';
import { OTHER_RUNNERS } from '../support/languages/other-runners.ts';
import { pytestFlat } from '../support/languages/python.ts';
import { missingFor } from '../support/languages/repository.ts';
import { rust } from '../support/languages/rust.ts';
import { vitest } from '../support/languages/typescript.ts';
import { goTheWholeWay } from '../support/languages/whole-way.ts';

/*
 * Each runner as its users have it, most of them installed by the engine's own set-up. That takes a package registry and many
 * minutes, so that it runs only with AGENTOS_TEST_RUNNERS=1; the samples of implement-languages.test.ts always run.
 */
const isAsked = process.env['AGENTOS_TEST_RUNNERS'] === '1';
const HINT = 'set AGENTOS_TEST_RUNNERS=1 to install and run it';

let cache = '';
beforeAll(async () => {
  cache = await mkdtemp(join(tmpdir(), 'agentos-npm-'));
});
afterAll(() => rm(cache, { recursive: true, force: true }));

for (const sample of [...JAVASCRIPT_RUNNERS, ...OTHER_RUNNERS, vitest, pytestFlat, goChangedFile, goNewPackage, rust]) {
  const missing = isAsked ? missingFor(sample) : null;
  const why = isAsked ? (missing === null ? null : `${missing} does not work here`) : HINT;
  test.skipIf(why !== null)(
    `${sample.name}: from red to a branch${why === null ? '' : ` (skipped: ${why})`}`,
    async () => expect(await goTheWholeWay(sample, { ...given(), npm_config_cache: cache })).toBe(0),
    600_000,
  );
}

/** How the network is reached, and where a machine without one has what these tools need. */
function given(): Record<string, string> {
  const names =
    /^(?:NODE_EXTRA_CA_CERTS|SSL_CERT_\w+|https?_proxy|no_proxy|npm_config_registry|MAVEN_OPTS|GRADLE_USER_HOME)$/i;
  return Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value]) =>
      names.test(name) && value !== undefined ? [[name, value] as const] : [],
    ),
  );
}
