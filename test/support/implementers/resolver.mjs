// An implementer that settles conflicts, as a command: `node resolver.mjs <how> <file that counts its calls>`.
import { appendFileSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const task = readFileSync(0, 'utf8');
const [how, calls] = process.argv.slice(2);
appendFileSync(calls, `${JSON.stringify({ task, again: task.includes('It is not done.') })}\n`);
const again = task.includes('It is not done.');

const CONFLICT = /<{7} [^\n]*\n([^]*?)={7}\n([^]*?)>{7} [^\n]*\n/g;
const inConflict = ['src', 'test'].flatMap((folder) =>
  readdirSync(folder)
    .map((name) => join(folder, name))
    .filter((path) => readFileSync(path, 'utf8').includes('<<<<<<<')),
);
const settle = (keep) => {
  for (const path of inConflict) writeFileSync(path, readFileSync(path, 'utf8').replace(CONFLICT, keep));
};

const BEHAVIOURS = {
  both: () => settle('$1$2'),
  ours: () => settle('$1'),
  // Gets there in the end, and tidies up elsewhere on the way.
  slowly: () => {
    if (!again) writeFileSync('src/main.js', 'export const answer = 41;\n');
    else settle('$1$2');
  },
};
BEHAVIOURS[how]();
