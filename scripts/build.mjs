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

const result = await build({
  absWorkingDir: root,
  entryPoints: { cli: 'src/cli/main.ts', worker: 'src/worker/main.ts', index: 'src/index.ts' },
  outdir: 'dist',
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node24',
  minifySyntax: true,
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
});

writeFileSync(join(root, 'dist/THIRD-PARTY-LICENCES.txt'), licencesOf(result.metafile, root));
const cli = join(root, 'dist/cli.js');
writeFileSync(cli, `#!/usr/bin/env node\n${readFileSync(cli, 'utf8').replace(/^#!.*\n/, '')}`, { mode: 0o755 });

writeTypes(root);

const { configJsonSchema } = await import(join(root, 'src/core/config-schema.ts'));
writeFileSync(join(root, 'dist/agentos.schema.json'), `${JSON.stringify(configJsonSchema(), null, 2)}\n`);
