import { defineConfig } from 'vitest/config';

/** Kills at many moments, and faults that take longer than a lease, on a real PostgreSQL. */
export default defineConfig({
  test: {
    include: ['test/faults/**/*.test.ts'],
    root: `${import.meta.dirname}/../..`,
    testTimeout: 180_000,
    hookTimeout: 60_000,
  },
});
