// Lists the modules of ours that one `agentos lld` item passes through in parent and worker, and those that one model
// request crosses in pool/ and gateway/. A module counts if at least one of its functions ran, by V8's coverage of a real
// run of the sources against a vendor on loopback. Modules of core/ are counted apart: they are the vocabulary.
import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { takeCoverage } from 'node:v8';

const self = fileURLToPath(import.meta.url);
const root = dirname(dirname(self));
if (process.argv[1] === self) await main();
else observe();

/** In parent and worker: the sources run as they are, and a worker, which never exits by itself, leaves its coverage. */
function observe() {
  const worker = pathToFileURL(join(root, 'dist/worker.js')).href;
  registerHooks({
    resolve: (specifier, context, next) =>
      next(specifier === worker ? pathToFileURL(join(root, 'src/worker/main.ts')).href : specifier, context),
    load(url, context, next) {
      if (!url.endsWith('.md')) return next(url, context);
      const text = readFileSync(fileURLToPath(url), 'utf8');
      return { format: 'module', source: `export default ${JSON.stringify(text)};`, shortCircuit: true };
    },
  });
  const send = process.send?.bind(process);
  if (send)
    process.send = (message, ...rest) => {
      if (message.type === 'ended') takeCoverage();
      return send(message, ...rest);
    };
}

async function main() {
  const { ISSUE, script, vendorEnv } = await import('../test/support/models.ts');
  const { repositoryIn } = await import('../test/support/repository.ts');
  const { startVendor } = await import('../test/support/vendor/index.ts');
  const folder = mkdtempSync(join(tmpdir(), 'agentos-modules-'));
  const vendor = await startVendor({ script: script() });
  try {
    const repository = await repositoryIn(folder, { 42: ISSUE });
    const coverage = join(folder, 'coverage');
    const models = ['--drafter', 'anthropic:claude-opus-5', '--reviewer', 'anthropic:claude-sonnet-5'];
    const child = spawn(process.execPath, [join(root, 'src/cli/main.ts'), 'lld', '42', ...models], {
      cwd: repository.root,
      env: {
        ...vendorEnv(vendor.url),
        PATH: process.env.PATH,
        HOME: repository.home,
        NODE_V8_COVERAGE: coverage,
        NODE_OPTIONS: `--import=${pathToFileURL(self).href}`,
      },
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    const code = await new Promise((resolve) => child.on('close', resolve));
    if (code !== 0) throw new Error(`the run ended with ${code}`);
    print(modulesIn(coverage));
  } finally {
    await vendor.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Those of which a function ran; what is at the top level of a module runs whenever it is loaded. */
function modulesIn(coverage) {
  const src = pathToFileURL(join(root, 'src/')).href;
  const modules = new Set();
  for (const file of readdirSync(coverage)) {
    const { result } = JSON.parse(readFileSync(join(coverage, file), 'utf8'));
    for (const { url, functions } of result) {
      const ran = functions.some(({ ranges }) => ranges[0].startOffset > 0 && ranges[0].count > 0);
      if (ran && url.startsWith(src) && url.endsWith('.ts')) modules.add(url.slice(src.length));
    }
  }
  return [...modules].sort((a, b) => a.localeCompare(b));
}

function print(modules) {
  const isRequest = (name) => /^(?:pool|gateway)\//.test(name);
  const core = modules.filter((name) => name.startsWith('core/'));
  const request = modules.filter(isRequest);
  const item = modules.filter((name) => !isRequest(name) && !core.includes(name));
  for (const name of [...item, '', ...request]) process.stdout.write(`${name}\n`);
  const counts = `${item.length} modules for one item, ${request.length} more for its model requests`;
  process.stdout.write(`\n${counts}, and ${core.length} of core/\n`);
}
