// An implementer as a command that writes what a plan says: `node from-plan.mjs <plan.json>`. The plan holds for each
// phase the files of its first call, and of every further one. While the file named `hold` is there, the code is not
// finished.
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

const task = readFileSync(0, 'utf8');
const plan = JSON.parse(readFileSync(process.argv[2], 'utf8'));
const phase = /^Write the tests for issue/m.test(task) ? 'tests' : 'code';
const again = task.includes('It is not done.');
if (plan.state) appendFileSync(plan.state, `${JSON.stringify({ phase, again, task })}\n`);
const [first, further] = plan[phase];
for (const [path, text] of Object.entries((again ? further : first) ?? first)) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}
if (phase === 'code' && plan.hold && existsSync(plan.hold)) {
  setInterval(() => process.stdout.write('still at it\n'), 100);
}
