// A drafter or reviewer as a command: the prompt on stdin, the reply on stdout. `node scripted-model.mjs <folder>`: the
// folder holds a reply per task (`lld-42.md`, or `lld.md` for all), and `hold-lld-42` while the call is to wait. A reply
// `fails` is a failure. What was asked is told on stderr and kept in `calls`.
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const [folder] = process.argv.slice(2);
const prompt = readFileSync(0, 'utf8');
const [, verb, what, id] = [
  ...prompt.matchAll(/^(Write|Review) the (LLD|issue|code|tests) for (?:issue|the brief) ([\w-]+), "/gm),
].at(-1);
const task = `${verb === 'Review' ? 'review-' : ''}${what.toLowerCase()}`;
appendFileSync(join(folder, 'calls'), `${task} ${id}\n`);
process.stderr.write(`asked for ${task} ${id}\n`);

const pause = new Int32Array(new SharedArrayBuffer(4));
while (existsSync(join(folder, `hold-${task}-${id}`))) Atomics.wait(pause, 0, 0, 20);

const own = join(folder, `${task}-${id}.md`);
const reply = readFileSync(existsSync(own) ? own : join(folder, `${task}.md`), 'utf8').replaceAll('{id}', id);
if (reply === 'fails') {
  process.stderr.write('as told, it fails\n');
  process.exit(1);
}
process.stdout.write(reply);
