import { createHash } from 'node:crypto';
import { expect, onTestFinished, test } from 'vitest';
import { designedRepository } from '../support/implement.ts';
import { CODE, MODELS_WITH_TOOLS, modelWithTools } from '../support/model-with-tools.ts';
import { vendorEnv } from '../support/models.ts';
import { agentos, startAgentos } from '../support/program.ts';
import type { TestRepository } from '../support/repository.ts';
import { startVendor } from '../support/vendor/index.ts';

/** More where `AGENTOS_TEST_KILLS` says so. */
const KILLS = Number(process.env['AGENTOS_TEST_KILLS'] ?? 4);
/** Four rounds each for tests and code, and a review. */
const CALLS = 9;
const BRANCH = 'agentos/42-add-a-number';

/** Repeatable: the same moments every time, spread over a whole run. */
function fraction(index: number): number {
  return createHash('sha256').update(`kill ${index}`).digest().readUInt32BE(0) / 2 ** 32;
}

test(`killed at ${KILLS} random moments and started again, it ends in the same branch with at most one repeated call per kill`, {
  timeout: 600_000,
}, async () => {
  const vendor = await startVendor({ script: (call) => ({ ...modelWithTools(call), latencyMs: 30 }) });
  onTestFinished(() => vendor.close());
  const fresh = async (): Promise<TestRepository> => designedRepository(['42']);
  const env = vendorEnv(vendor.url);
  const args = ['implement', '42', ...MODELS_WITH_TOOLS];
  const treeOf = (repository: TestRepository): string => {
    const files = repository.git('ls-tree', '-r', `${BRANCH}~1`);
    expect(files).toContain('src/item-42.js');
    return files;
  };

  const undisturbed = await fresh();
  const startedAt = performance.now();
  const ended = await agentos(args, { cwd: undisturbed.root, env: { ...env, HOME: undisturbed.home } });
  expect(ended.code, ended.stdout).toBe(0);
  const wholeRunMs = performance.now() - startedAt;
  const expected = treeOf(undisturbed);

  let kills = 0;
  for (let index = 0; kills < KILLS; ) {
    const repository = await fresh();
    const options = { cwd: repository.root, env: { ...env, HOME: repository.home } };
    const before = vendor.calls.length;
    let killsHere = 0;
    for (;;) {
      const program = startAgentos(args, options);
      const timer = setTimeout(() => program.child.kill('SIGKILL'), fraction(index) * wholeRunMs);
      index += 1;
      const { code, signal, stdout } = await program.ended;
      clearTimeout(timer);
      if (signal === 'SIGKILL') {
        kills += 1;
        killsHere += 1;
        continue;
      }
      expect(code, stdout).toBe(0);
      break;
    }
    expect(vendor.calls.length - before).toBeLessThanOrEqual(CALLS + killsHere);
    expect(treeOf(repository)).toBe(expected);
    expect(`${repository.git('show', `${BRANCH}:src/item-42.js`)}\n`).toBe(CODE);
    expect(repository.git('log', '--format=%s', `main..${BRANCH}`).split('\n')).toHaveLength(3);
    expect(repository.git('status', '--porcelain')).toBe(undisturbed.git('status', '--porcelain'));
  }
});
