// An implementer that reacts to what happened to a pull request, as a command: `node reactor.mjs <how> <file of its calls>`.
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';

const task = readFileSync(0, 'utf8');
const [how, calls] = process.argv.slice(2);
const before = existsSync(calls) ? readFileSync(calls, 'utf8').split('\n').length : 1;
appendFileSync(calls, `${JSON.stringify({ task, env: process.env })}\n`);

const CONFLICT = /<{7} [^\n]*\n([^]*?)={7}\n([^]*?)>{7} [^\n]*\n/g;
const BEHAVIOURS = {
  // Does what is asked, and more than it may.
  fixes: () => {
    appendFileSync('src/item-42.js', `// fixed ${before}\n`);
    appendFileSync('test/item-42.test.js', '// weakened\n');
    appendFileSync('src/main.js', '// touched\n');
  },
  settles: () => writeFileSync('src/item-42.js', readFileSync('src/item-42.js', 'utf8').replace(CONFLICT, '$1$2')),
  // And leaves something in its home, where tests could find it.
  breaks: () => {
    writeFileSync('src/item-42.js', 'export const item42 = () => 41;\n');
    writeFileSync(`${process.env.HOME}/planted.js`, '');
  },
};
BEHAVIOURS[how]();
