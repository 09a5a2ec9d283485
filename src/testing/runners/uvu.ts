import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join, posix } from 'node:path';
import { signOf } from '../project.ts';
import { linesIn } from '../reports/lines.ts';
import { changedCalls, type Runner } from '../runner.ts';
import { plainArguments, programNamed } from '../script.ts';
import { isJavaScriptMissing, withPrintedErrors } from './javascript.ts';

/** It has no reporters, and prints no names: a module that is loaded before the tests sees them. */
export const uvu: Runner = {
  name: 'uvu',
  isMissingCode: isJavaScriptMissing,
  sign: signOf(['uvu']),
  usualCommand: async () => 'uvu',
  headAt: programNamed('uvu'),

  select(call, files) {
    const remove = plainArguments(call, /^(-[bcq]|--(bail|color|quiet))$/);
    const folder = remove[0]?.text.replace(/^\.\//, '').replace(/\/$/, '') ?? '';
    if (folder === '' || !files.every((file) => file.startsWith(`${folder}/`))) return null;
    const names = files.map((file) => file.slice(folder.length + 1).replace(/[.+*?^${}()|[\]\\]/g, '\\$&'));
    return { remove, last: [folder, `^(${names.join('|')})$`] };
  },

  async instrument(script, place) {
    const changes = await changedCalls(script, 'uvu', async (_, index) => {
      const hook = join(place.folder, `hook-${index}.cjs`);
      await writeFile(hook, UVU_HOOK);
      return { last: ['-r', hook] };
    });
    return { changes };
  },

  async read({ worktree, folder, pathInWorktree }, output, script) {
    // It calls files as they are called in the folder that it is given.
    const folders = script.calls.flatMap(({ words, head }) => words.slice(head + 1).map(({ text }) => text));
    const places = ['', 'test', 'tests', ...folders];
    const named = (path: string): string | null => {
      const found = places.map((place) => posix.join(place, path)).find((file) => existsSync(join(worktree, file)));
      return path === '' ? null : pathInWorktree(found ?? path);
    };
    return withPrintedErrors(await linesIn(folder, named), output, pathInWorktree);
  },
};

/** uvu notes the running test in its state, and prints a mark for its end. */
const UVU_HOOK = `const fs = require('fs');

const write = (line) => fs.appendFileSync(__filename.replace(/cjs$/, 'lines'), JSON.stringify(line) + '\\n');
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
