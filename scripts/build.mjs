// Bundles the program into dist/: start-up time is what users feel first, and one file loads faster than five hundred.
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { builtins, packagesByCall } from './lazy-modules.mjs';
import { licencesOf } from './licences.mjs';
import { writeMerged } from './merge-chunks.mjs';
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

/** Commands are loaded when they are called, from files of their own. */
const commandsApart = {
  name: 'commands-apart',
  setup: (bundler) =>
    bundler.onResolve({ filter: /^\.\/commands\/\w+\.ts$/ }, ({ path, kind }) =>
      kind === 'dynamic-import' ? { path: `.${path.replace(/ts$/, 'js')}`, external: true } : undefined,
    ),
};
const batchCommands = ['batch', 'resume'];
const otherCommands = readdirSync(join(root, 'src/cli/commands'))
  .filter((file) => /^\w+\.ts$/.test(file))
  .map((file) => file.replace(/\.ts$/, ''))
  .filter((name) => name !== 'check' && !batchCommands.includes(name));
const commandGraph = (names) => ({
  entries: Object.fromEntries(names.map((name) => [`commands/${name}`, `src/cli/commands/${name}.ts`])),
});

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
  plugins: [englishOnly, commandsApart, builtins, packagesByCall('yaml', 'string-width')],
  loader: { '.md': 'text' },
  define: { AGENTOS_VERSION: JSON.stringify(version) },
  legalComments: 'none',
  metafile: true,
  logLevel: 'warning',
};

/** Each is a graph of its own. `always` are lazy imports that nearly every process of the graph needs. */
const graphs = [
  { entries: { cli: 'src/cli/main.ts' }, always: ['src/process/own-process.ts', 'src/cli/run.ts'] },
  commandGraph(['check']),
  commandGraph(batchCommands),
  commandGraph(otherCommands),
  { entries: { library: 'src/index.ts' } },
  {
    entries: { worker: 'src/worker/main.ts' },
    always: ['src/worker/document-tasks.ts', 'src/worker/worktree-tasks.ts'],
  },
  { entries: { context: 'src/worker/context-main.ts' } },
];
const inputs = {};
const outputs = {};
await Promise.all(
  graphs.map(async ({ entries, always = [] }) => {
    // The same chunk can become part of different files in two graphs.
    const chunkNames = `chunks/${basename(Object.keys(entries)[0])}-[name]-[hash]`;
    const built = await build({ ...options, chunkNames, entryPoints: entries, write: false });
    const written = await writeMerged(built, { root, options, starts: [...Object.values(entries), ...always] });
    Object.assign(inputs, built.metafile.inputs);
    for (const file of written) outputs[file] = built.metafile.outputs[file];
  }),
);
// Loaded when spans are exported, and then in a thread. It awaits its lazy imports at the top, which must import nothing from it.
const { metafile: ofExporter } = await build({
  ...options,
  chunkNames: 'chunks/span-exporter-[name]-[hash]',
  entryPoints: { 'span-exporter': 'src/telemetry/exporter-thread.ts' },
});
Object.assign(inputs, ofExporter.inputs);
Object.assign(outputs, ofExporter.outputs);
// The first program in a sandbox: alone in its file, and the quickest form to load.
await build({
  ...options,
  splitting: false,
  format: 'cjs',
  outdir: undefined,
  outfile: 'dist/sandbox-entry.cjs',
  entryPoints: ['src/process/sandbox/entry.ts'],
});
// The library behind the same check as the program. It is required, not awaited, so that CommonJS can require it too.
await build({
  ...options,
  splitting: false,
  outdir: undefined,
  outfile: 'dist/index.js',
  external: ['./library.js'],
  stdin: {
    contents: `import { refuseOldNode } from './src/cli/version.ts';
refuseOldNode();
export const { ${outputs['dist/library.js'].exports.join(', ')} } = require('./library.js');`,
    resolveDir: root,
    sourcefile: 'index.js',
  },
});

// Some dependencies are CommonJS and call require().
for (const file of ['dist/index.js', ...Object.keys(outputs)]) {
  const code = readFileSync(join(root, file), 'utf8');
  if (!code.includes('typeof require')) continue;
  const shim = "import { createRequire } from 'node:module';const require = createRequire(import.meta.url);";
  writeFileSync(join(root, file), `${shim}\n${code}`);
}

// The pages, for browsers. What they take of core/ is pure, but stands in files with other things: these are left out.
const MISSING = 'not in a browser';
const nothingOfNode = {
  name: 'nothing-of-node',
  setup(bundler) {
    bundler.onResolve({ filter: /^node:/ }, ({ path }) => ({ path, namespace: 'node', sideEffects: false }));
    bundler.onLoad({ filter: /.*/, namespace: 'node' }, ({ path }) => {
      const names = Object.keys(process.getBuiltinModule(path)).filter((name) => /^[a-zA-Z]\w*$/.test(name));
      const stub = (name) =>
        name === 'stripVTControlCharacters'
          ? `export const ${name} = (text) => text;`
          : `export function ${name}() { throw new Error('${name}: ${MISSING}'); }`;
      return {
        contents: names
          .filter((name) => name !== 'default')
          .map(stub)
          .join('\n'),
      };
    });
  },
};
const page = await build({
  absWorkingDir: root,
  entryPoints: { app: 'src/ui/page/main.tsx' },
  outdir: 'dist/ui',
  bundle: true,
  format: 'esm',
  platform: 'browser',
  target: ['chrome123', 'firefox120', 'safari17.5'],
  minify: true,
  jsx: 'automatic',
  jsxImportSource: 'preact',
  plugins: [nothingOfNode],
  legalComments: 'none',
  metafile: true,
  logLevel: 'warning',
});
if (readFileSync(join(root, 'dist/ui/app.js'), 'utf8').includes(MISSING))
  throw new Error('the pages use something of Node');
Object.assign(inputs, page.metafile.inputs);

writeFileSync(join(root, 'dist/THIRD-PARTY-LICENCES.txt'), licencesOf({ inputs }, root));
const cli = join(root, 'dist/cli.js');
writeFileSync(cli, `#!/usr/bin/env node\n${readFileSync(cli, 'utf8').replace(/^#!.*\n/, '')}`, { mode: 0o755 });

writeTypes(root);

const { configJsonSchema } = await import(join(root, 'src/core/config-file.ts'));
writeFileSync(join(root, 'dist/agentos.schema.json'), `${JSON.stringify(configJsonSchema(), null, 2)}\n`);
