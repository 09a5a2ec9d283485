import { expect, onTestFinished, test } from 'vitest';
import { canMount } from '../support/small-disk.ts';
import { chaosRuns } from './chaos-run.ts';

/**
 * Together: kills of a worker, the parent and a git process, faults of the vendor, two programs at once, a full disk and a
 * read-only folder. `npm run chaos` has as many more as there is time for.
 */
const SEEDS = [54, 357, 741, 1164, 1170];

test('whatever is done to them, seeded runs keep every promise', { timeout: 180_000 }, async () => {
  const interrupt = new AbortController();
  onTestFinished(() => interrupt.abort());
  const results = await chaosRuns(SEEDS, {
    can: { mount: canMount() },
    signal: interrupt.signal,
    onResult: ({ scenario, violations, fired, folder }) => {
      for (const { outcome, why } of fired)
        if (outcome === 'skipped') process.stderr.write(`seed ${scenario.seed}: a fault was skipped, ${why}\n`);
      if (violations.length > 0)
        process.stderr.write(
          `seed ${scenario.seed}: kept in ${folder}; npm run chaos -- --seed ${scenario.seed} --runs 1\n`,
        );
    },
  });
  expect(results.flatMap(({ scenario: { seed }, violations }) => violations.map((one) => ({ seed, ...one })))).toEqual(
    [],
  );
  expect(results).toHaveLength(SEEDS.length);
});
