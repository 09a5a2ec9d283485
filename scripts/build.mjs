// Bundles the program into dist/: start-up time is what users feel first, and one file loads faster than five hundred.
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { licencesOf } from './licences.mjs';
import { writeTypes } from './types.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const { version } = createRequire(import.meta.url)('../package.json');
rmSync(join(root, 'dist'), { recursive: true, force: true });

/** The AI SDK takes zod whole, with its messages in fifty languages: half of the code that a worker would load. */
const englishOnly = {
  name: 'english-only',
  setup: (bundler) =>
    bundler.onLoad({ filter: /zod[\\/]v4[\\/]locales[\\/]index\.js$/ }, ({ path }) => ({
      contents: "export { default as en } from './en.js';",
      resolveDir: dirname(path),
    })),
};

const options = {
  absWorkingDir: root,
  outdir: 'dist',
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node24',
  minifySyntax: true,
  minifyWhitespace: true,
  plugins: [englishOnly],
  chunkNames: 'chunks/[name]-[hash]',
  loader: { '.md': 'text' },
  define: { AGENTOS_VERSION: JSON.stringify(version) },
  // Some dependencies are CommonJS and call require().
  banner: {
    js: "import { createRequire as agentosRequire } from 'node:module';const require = agentosRequire(import.meta.url);",
  },
  legalComments: 'none',
  metafile: true,
  logLevel: 'warning',
};
const program = await build({ ...options, entryPoints: { cli: 'src/cli/main.ts', index: 'src/index.ts' } });
// A graph of its own: what workers share with the program would otherwise be cut into many small files, and ten of them
// start at the same time.
const worker = await build({ ...options, entryPoints: { worker: 'src/worker/main.ts' } });
// Loaded when spans are exported, and then in a thread: nothing else holds any of it.
const exporter = await build({ ...options, entryPoints: { 'span-exporter': 'src/telemetry/exporter-thread.ts' } });
const inputs = { ...program.metafile.inputs, ...worker.metafile.inputs, ...exporter.metafile.inputs };

writeFileSync(join(root, 'dist/THIRD-PARTY-LICENCES.txt'), licencesOf({ inputs }, root));
const cli = join(root, 'dist/cli.js');
writeFileSync(cli, `#!/usr/bin/env node\n${readFileSync(cli, 'utf8').replace(/^#!.*\n/, '')}`, { mode: 0o755 });

writeTypes(root);

const { configJsonSchema } = await import(join(root, 'src/core/config-schema.ts'));
writeFileSync(join(root, 'dist/agentos.schema.json'), `${JSON.stringify(configJsonSchema(), null, 2)}\n`);
