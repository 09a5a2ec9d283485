// Modules that cost start-up time are loaded when something of them is used, not when it is imported.
import { builtinModules, createRequire } from 'node:module';

/** Of these only functions and classes are used: the first call loads them. */
const BY_CALL = new Set(['node:crypto', 'node:sqlite', 'node:worker_threads', 'node:zlib']);

/**
 * Node's own modules without their ESM facades: `import … from 'node:http'` reads every property of the module to export
 * it, and the lazy ones among them load the whole HTTP client (25 ms), the terminal's streams and more. What is taken from
 * `process.getBuiltinModule` is only what is used. It is younger than the oldest Node that an entry has to be read by.
 */
export const builtins = {
  name: 'builtins',
  setup(bundler) {
    const names = new Set(builtinModules.map((name) => name.replace(/^node:/, '')));
    bundler.onResolve({ filter: /^[a-z_:/0-9]+$/ }, ({ path, kind }) => {
      const bare = path.replace(/^node:/, '');
      return kind === 'import-statement' && names.has(bare)
        ? { path: `node:${bare}`, namespace: 'builtin', sideEffects: false }
        : undefined;
    });
    bundler.onLoad({ filter: /.*/, namespace: 'builtin' }, ({ path }) => {
      const properties = Object.getOwnPropertyDescriptors(process.getBuiltinModule(path));
      const source = `process.getBuiltinModule('${path}')`;
      const exported = namesOf(properties).map((name) =>
        BY_CALL.has(path) && typeof properties[name].value === 'function'
          ? byCall(name, source)
          : // In a call without effects, so that what nobody imports is left out.
            `const e_${name} = /* @__PURE__ */ (() => ${source}.${name})(); export { e_${name} as ${name} };`,
      );
      return { contents: [`export default /* @__PURE__ */ ${source};`, ...exported].join('\n'), loader: 'js' };
    });
  },
};

/** Packages of which only functions and classes are used. */
export function packagesByCall(...packages) {
  const require = createRequire(import.meta.url);
  return {
    name: 'packages-by-call',
    setup(bundler) {
      bundler.onResolve({ filter: new RegExp(`^(?:${packages.join('|')})$`) }, ({ path, kind, resolveDir }) =>
        kind === 'import-statement'
          ? { path, namespace: 'by-call', sideEffects: false, pluginData: { resolveDir } }
          : undefined,
      );
      bundler.onLoad({ filter: /.*/, namespace: 'by-call' }, ({ path, pluginData: { resolveDir } }) => {
        const module = require(path);
        const contents = namesOf(module).map((name) => byCall(name, `require('${path}')`));
        if (typeof module.default === 'function')
          contents.push(`export default function (...args) { return require('${path}').default(...args); }`);
        return { contents: contents.join('\n'), loader: 'js', resolveDir };
      });
    },
  };
}

function byCall(name, source) {
  return `export function ${name}(...args) { const it = ${source}.${name}; return new.target ? new it(...args) : it(...args); }`;
}

function namesOf(module) {
  return Object.keys(module).filter((name) => name !== 'default' && /^[A-Za-z_$][\w$]*$/.test(name));
}
