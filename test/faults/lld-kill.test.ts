import { createHash } from 'node:crypto';
import { expect, onTestFinished, test } from 'vitest';
import { ISSUE, lldFor, review, roundOf, script, vendorEnv } from '../support/models.ts';
import { agentos, startAgentos } from '../support/program.ts';
import { testRepository } from '../support/repository.ts';
import { startVendor } from '../support/vendor/index.ts';

/** More where `AGENTOS_TEST_KILLS` says so. */
const KILLS = Number(process.env['AGENTOS_TEST_KILLS'] ?? 10);
const MODELS = ['--drafter', 'anthropic:claude-opus-5', '--reviewer', 'google:gemini-3-pro-preview'];

/** Repeatable: the same moments every time, spread over a whole run. */
function fraction(index: number): number {
  return createHash('sha256').update(`kill ${index}`).digest().readUInt32BE(0) / 2 ** 32;
}

const models = script({
  draft: () => ({ text: lldFor('42'), latencyMs: 20 }),
  review: (call) => ({
    text:
      roundOf(call) === 1
        ? review({ verdict: 'REVISE', tier2: ['**Missing bound:** Section 2.6 names no largest value.'] })
        : review({ verdict: 'APPROVED' }),
    latencyMs: 20,
  }),
});

test(`killed at ${KILLS} random moments and started again, it ends in the same LLD with at most one repeated call per kill`, async () => {
  const vendor = await startVendor({ script: models });
  onTestFinished(() => vendor.close());
  const repository = await testRepository({ 42: ISSUE });
  const options = { cwd: repository.root, env: { ...vendorEnv(vendor.url), HOME: repository.home } };

  const began = performance.now();
  expect((await agentos(['lld', '42', ...MODELS], options)).code).toBe(0);
  const wholeRunMs = performance.now() - began;
  const expected = await repository.read('docs/lld/LLD-42.md');
  const needed = vendor.calls.length;

  const startOver = async (): Promise<void> => {
    repository.git('clean', '--quiet', '-dffx');
    expect(await repository.list('docs')).toEqual([]);
  };
  await startOver();
  let calls = vendor.calls.length;
  let killsSinceStart = 0;
  let kills = 0;
  for (let index = 0; kills < KILLS; index++) {
    const program = startAgentos(['lld', '42', ...MODELS], options);
    const timer = setTimeout(() => program.child.kill('SIGKILL'), fraction(index) * wholeRunMs);
    const { code } = await program.ended;
    clearTimeout(timer);
    if (code === null) {
      kills += 1;
      killsSinceStart += 1;
      continue;
    }
    expect(code).toBe(0);
    expect(await repository.read('docs/lld/LLD-42.md')).toBe(expected);
    expect(vendor.calls.length - calls).toBeLessThanOrEqual(needed + killsSinceStart);
    await startOver();
    calls = vendor.calls.length;
    killsSinceStart = 0;
  }
  expect((await agentos(['lld', '42', ...MODELS], options)).code).toBe(0);
  expect(await repository.read('docs/lld/LLD-42.md')).toBe(expected);
  expect(vendor.calls.length - calls).toBeLessThanOrEqual(needed + killsSinceStart);
  expect(await repository.list('.agentos/checkpoints')).toEqual([]);
  expect(await repository.list('docs/lineage/42')).toHaveLength(6);
}, 400_000);
