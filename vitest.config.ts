import { defineConfig } from 'vitest/config';

// The same meaning of `import x from './x.md'` as in the build.
const markdownAsText = {
  name: 'markdown-as-text',
  transform(code: string, id: string) {
    return id.endsWith('.md') ? { code: `export default ${JSON.stringify(code)};`, map: null } : undefined;
  },
};

export default defineConfig({
  plugins: [markdownAsText],
  test: {
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // Twice the cores that we count on: tests of programs wait half of their time.
    maxWorkers: 4,
    projects: [
      // Unit tests leave nothing behind in their process: a fresh one per file would double their time.
      { extends: true, test: { name: 'unit', include: ['src/**/*.test.ts'], isolate: false } },
      // What takes minutes has a command of its own: npm run faults.
      { extends: true, test: { name: 'program', include: ['test/**/*.test.ts'], exclude: ['test/faults/**'] } },
    ],
  },
});
