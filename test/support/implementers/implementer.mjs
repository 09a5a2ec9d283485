// An implementer as a command: the task on stdin, the files it changes count. How it behaves is said by its arguments:
// `node implementer.mjs [tests=<how>] [code=<how>] [state=<file>] [hold=<file>]`. It has no other way to know anything.
import { execFileSync, spawn } from 'node:child_process';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';

const task = readFileSync(0, 'utf8');
const settings = Object.fromEntries(process.argv.slice(2).map((word) => word.split(/=(.*)/s).slice(0, 2)));
const phase = /^Write the tests for issue/m.test(task) ? 'tests' : 'code';
const id = /for issue ([\w-]+), "/.exec(task)?.[1] ?? '42';
const again = task.includes('It is not done.');
const how = settings[phase] ?? 'well';
if (settings.state) appendFileSync(settings.state, `${JSON.stringify({ phase, id, again, task, env: process.env })}\n`);

function write(path, text) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

const TESTS = `import assert from 'node:assert/strict';
import { test } from 'node:test';
import { item${id} } from '../src/item-${id}.js';

test('010 adds the number', () => {
  assert.equal(item${id}(1), ${Number(id) + 1});
});

test('020 refuses text', () => {
  assert.throws(() => item${id}('x'), TypeError);
});
`;
const CODE = `export function item${id}(value) {
  if (typeof value !== 'number') throw new TypeError('not a number');
  return value + ${id};
}
`;
const BINARY = Buffer.from(Array.from({ length: 3_000 }, (_, at) => (at * 7) % 256));
const TABLE = Array.from({ length: 60_000 }, (_, at) => `// line ${at}\n`).join('');
const testFile = `test/item-${id}.test.js`;
const codeFile = `src/item-${id}.js`;

const BEHAVIOURS = {
  tests: {
    well: () => write(testFile, TESTS),
    'with-code': () => {
      write(testFile, TESTS);
      write(codeFile, CODE);
      write('src/logo.bin', BINARY);
      write('src/table.js', TABLE);
    },
    'one-missing': () => write(testFile, again ? TESTS : TESTS.replace('020 ', '')),
    'always-one-missing': () => write(testFile, TESTS.replace('020 ', '')),
    skipped: () => write(testFile, TESTS.replace("test('020", "test.skip('020")),
    passing: () =>
      write(
        testFile,
        `import assert from 'node:assert/strict';\nimport { test } from 'node:test';\ntest('010 adds', () => assert.ok(true));\ntest('020 refuses', () => assert.ok(true));\n`,
      ),
    'guts-old': () => {
      write(testFile, TESTS);
      write('test/main.test.js', "import { test } from 'node:test';\ntest('the answer', () => undefined);\n");
    },
    'syntax-error': () => write(testFile, `${TESTS}\n)`),
    'wrong-import': () => write(testFile, TESTS.replace('../src/', '../lib/')),
    nothing: () => undefined,
  },
  code: {
    well: () => write(codeFile, CODE),
    'wrong-first': () => write(codeFile, again ? CODE : CODE.replace('+', '-')),
    wrong: () => write(codeFile, CODE.replace('+', '-')),
    // More than a diff for reading shows.
    large: () => {
      write('src/a-table.js', TABLE);
      write(codeFile, CODE);
    },
    // A package that the first set-up did not install; at first one that no set-up can.
    'adds-dependency': () => {
      write(
        'vendor/plus/package.json',
        '{ "name": "plus", "version": "1.0.0", "type": "module", "main": "index.js" }\n',
      );
      write('vendor/plus/index.js', 'export const plus = (a, b) => a + b;\n');
      write(codeFile, `import { plus } from 'plus';\n${CODE.replace(/value \+ (\d+)/, 'plus(value, $1)')}`);
      const manifest = JSON.parse(readFileSync('package.json', 'utf8'));
      const dependencies = { plus: again ? 'file:vendor/plus' : 'not a version' };
      write('package.json', `${JSON.stringify({ ...manifest, dependencies }, null, 2)}\n`);
    },
    nothing: () => process.stdout.write('All done, everything passes.\n'),
    'edits-tests': () => {
      write(codeFile, CODE);
      write(testFile, TESTS.replace("'x'", '1'));
      write('test/more.test.js', "import { test } from 'node:test';\ntest('more', () => undefined);\n");
    },
    'revises-more': () => {
      write(codeFile, again ? `${CODE}// revised\n` : CODE);
      if (!again) return;
      write('src/main.js', 'export const answer = 42; // touched\n');
      write('src/more.js', 'export {};\n');
      write(testFile, `${TESTS}// touched\n`);
    },
    'edits-designs': () => {
      write(codeFile, CODE);
      write(`docs/lld/LLD-${id}.md`, 'Done.\n');
      write(`docs/lineage/${id}/001-issue.md`, 'Done.\n');
    },
    'hides-code': () => {
      write(codeFile, CODE);
      write('.gitignore', `${codeFile}\n`);
    },
    'writes-by-tests': () => {
      const deed = `import { writeFileSync } from 'node:fs';\nwriteFileSync(${JSON.stringify(join(settings.outside, 'by-test.txt'))}, 'x');\n`;
      write(codeFile, `${deed}${CODE}`);
    },
    links: () => {
      write(join(settings.outside, '..', 'elsewhere.js'), CODE);
      mkdirSync('src', { recursive: true });
      symlinkSync(join(settings.outside, '..', 'elsewhere.js'), codeFile);
    },
    unstages: () => {
      write(codeFile, CODE);
      execFileSync('git', ['-C', settings.outside, 'rm', '--quiet', '--cached', 'src/main.js']);
    },
    'breaks-old': () => {
      write(codeFile, CODE);
      write('src/main.js', 'export const answer = 41;\n');
    },
    'writes-outside': () => {
      write(codeFile, CODE);
      write(join(settings.outside, 'src', 'main.js'), 'export const answer = 0;\n');
      write(join(settings.outside, 'new file.txt'), 'x\n');
    },
    'writes-above': () => {
      write(codeFile, CODE);
      write('../above.txt', 'x\n');
      write(join(settings.outside, '.git', 'hooks', 'pre-commit'), '#!/bin/sh\n');
    },
    'deletes-all': () => {
      for (const name of readdirSync('.')) rmSync(name, { recursive: true, force: true });
    },
    // As a person would who works in the checkout meanwhile.
    'works-in-checkout': () => {
      write(codeFile, CODE);
      const git = (...args) => execFileSync('git', ['-C', settings.outside, ...args]);
      rmSync(join(settings.outside, 'test', 'main.test.js'));
      write(join(settings.outside, 'src', 'main.js'), 'export const answer = 0;\n');
      git('commit', '--quiet', '-am', 'By a person');
      write(join(settings.outside, 'package.json'), '{}\n');
      write(join(settings.outside, 'issues', '77.md'), '# Another one\n');
    },
    'edits-lld': () => {
      write(codeFile, CODE);
      appendFileSync(join(settings.outside, 'docs', 'lld', `LLD-${id}.md`), '\nAnd nothing else.\n');
    },
    'leaves-children': () => {
      write(codeFile, CODE);
      const child = spawn('sh', ['-c', `sleep 600 # ${settings.mark}`], { detached: true, stdio: 'ignore' });
      child.unref();
      spawn('sh', ['-c', `sleep 600 # ${settings.mark}`], { stdio: 'ignore' }).unref();
    },
    // Until the file that `hold` names is gone.
    held: async () => {
      while (existsSync(settings.hold)) {
        process.stdout.write('held back\n');
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      write(codeFile, CODE);
    },
    forever: () => setInterval(() => process.stdout.write('still at it\n'), 100),
    silent: () => setInterval(() => undefined, 1000),
    fails: () => process.exit(3),
    'fails-for': () => (id === settings.only ? process.exit(3) : write(codeFile, CODE)),
    'fails-once': () => {
      if (!existsSync(settings.once)) {
        writeFileSync(settings.once, '');
        write('src/half.js', '// half\n');
        process.exit(3);
      }
      write(codeFile, CODE);
    },
  },
};

await BEHAVIOURS[phase][how]();
