import { afterAll, expect, onTestFinished, test } from 'vitest';
import { testFolder } from '../support/folder.ts';
import { startTestHub } from '../support/hub.ts';
import { ISSUE, script, vendorEnv } from '../support/models.ts';
import { freshDatabase, testPostgres } from '../support/postgres.ts';
import { agentos } from '../support/program.ts';
import { testRepository } from '../support/repository.ts';
import { startVendor } from '../support/vendor/index.ts';

const postgres = await testPostgres();
afterAll(() => postgres?.stop());

test.skipIf(postgres === null)('smoke', async () => {
  if (postgres === null) return;
  const vendor = await startVendor({ script: script() });
  onTestFinished(() => vendor.close());
  const folder = await testFolder();
  const hub = await startTestHub({ url: await freshDatabase(postgres), folder, env: vendorEnv(vendor.url) });
  onTestFinished(() => hub.close());
  const machine = await hub.machine('a');
  const repository = await testRepository({ 42: ISSUE, 43: ISSUE });
  const began = performance.now();
  const end = await agentos(
    ['lld', '--all', '--drafter', 'anthropic:claude-opus-5', '--reviewer', 'google:gemini-3-pro-preview'],
    { cwd: repository.root, env: { HOME: repository.home, AGENTOS_DATABASE_URL: hub.url } },
  );
  console.log(performance.now() - began, end.stdout, end.stderr, machine.program.stdout(), hub.program().stdout());
  expect(end.code).toBe(0);
  console.log(
    await repository.list('docs/lineage/42'),
    await repository.list('.agentos/checkpoints'),
    await repository.list('.agentos'),
  );
});
