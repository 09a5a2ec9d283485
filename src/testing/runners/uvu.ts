import { existsSync } from 'node:fs';
import { join, posix } from 'node:path';
import { writeReporter } from '../reports/lines.ts';
import type { Runner } from '../runner.ts';
import { plainArguments } from '../script.ts';
import { packaged, readLines } from './javascript.ts';

const FLAGS = /^(-[bcq]|--(bail|color|quiet))$/;

/** uvu has no reporters and prints no names of passing tests: a module loaded before the tests records them. */
export const uvu: Runner = {
  ...packaged('uvu', FLAGS),

  select(call, files) {
    const remove = plainArguments(call, FLAGS);
    const folder = remove[0]?.text.replace(/^\.\//, '').replace(/\/$/, '') ?? '';
    if (folder === '' || !files.every((file) => file.startsWith(`${folder}/`))) return null;
    const names = files.map((file) => file.slice(folder.length + 1).replace(/[.+*?^${}()|[\]\\]/g, '\\$&'));
    return { remove, last: [folder, `^(${names.join('|')})$`] };
  },

  change: async (_, index, place) => ({ last: ['-r', await writeReporter(place, index, 'cjs', UVU_HOOK)] }),

  async read(place, output, script) {
    // uvu prints paths relative to the folder it is given.
    const folders = script.calls.flatMap(({ words, head }) => words.slice(head + 1).map(({ text }) => text));
    const fileOf = (path: string): string | null => {
      const places = ['', 'test', 'tests', ...folders].map((folder) => posix.join(folder, path));
      const found = places.find((file) => existsSync(join(place.worktree, file)));
      return path === '' ? null : place.pathInWorktree(found ?? path);
    };
    return await readLines(place, output, { fileOf });
  },
};

/** uvu stores the current test's name in its state, since 0.4, and prints a mark when the test ends. */
const UVU_HOOK = `// Loaders as old as such a uvu don't know names like node:fs.
const { realpathSync } = require('fs');
const { createRequire } = require('module');
const states = new WeakMap();
let running = null;
let file = null;
let failed = [];

Object.defineProperty(Object.prototype, '__test__', {
  configurable: true,
  get() {
    return states.get(this);
  },
  set(name) {
    states.set(this, name);
    running = name ? [this.__suite__ || '', String(name)] : null;
  },
});

const ofUvu = createRequire(realpathSync(process.argv[1]));
if (/^0\\.[0-3]\\./.test(ofUvu('./package.json').version)) {
  const uvu = ofUvu('.');
  const named = (suite, add) => (name, handler) =>
    add(name, (context) => {
      running = [suite, String(name)];
      return handler(context);
    });
  const wrapped = (suite, test) => Object.assign(named(suite, test), test, { only: named(suite, test.only) });
  const { suite, test } = uvu;
  uvu.test = wrapped('', test);
  uvu.suite = (name, state) => wrapped(name || '', suite(name, state));
}

const print = process.stdout.write;
process.stdout.write = function (chunk, ...rest) {
  const text = String(chunk).replace(/\\u001B\\[[0-9;]*m/g, '');
  if (/^\\S.*\\.[cm]?[jt]sx?\\n$/.test(text)) file = text.trim();
  if (text === '• ' && running) write({ file, names: running, outcome: 'passed' });
  if (text === '✘ ' && running) failed.push({ file, names: running, outcome: 'failed', message: '' });
  if (text.includes(' FAIL ')) {
    const parts = text.split(/^\\s*FAIL\\s+/m);
    for (const test of failed)
      write({ ...test, message: parts.find((part) => part.includes('"' + test.names[1] + '"')) || '' });
    failed = [];
  }
  if (/^ {2}Total: /m.test(text)) write({ end: true });
  return print.call(this, chunk, ...rest);
};
`;
