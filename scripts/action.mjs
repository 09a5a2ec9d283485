// The step of action.yml that runs the program: its inputs as flags, its summary as outputs and as the job's summary.
// What waits for a person (3) or for quota (75) is no failure of the job: it is shown, and the step ends well.
import { spawn, spawnSync } from 'node:child_process';
import { appendFileSync, cpSync, existsSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const OUTCOMES = { 0: 'success', 3: 'waits', 75: 'paused' };
const NEUTRAL = {
  waits: 'Something waits for a person: see the summary of this job.',
  paused: 'Paused for quota: the next run resumes it.',
};
/** Commands that take issues by their label. */
const BY_LABEL = new Set(['run', 'lld', 'implement', 'watch']);

const { env } = process;
const words = (text) => (text ?? '').split(/\s+/).filter(Boolean);
const escaped = (text) => text.replace(/%/g, '%25').replace(/\r/g, '%0D').replace(/\n/g, '%0A');

function argumentsOf() {
  const command = env.INPUT_COMMAND || 'run';
  const items = words(env.INPUT_ITEMS);
  const which = items.length > 0 ? items : command === 'watch' ? ['--once'] : ['--all'];
  const label = items.length === 0 && BY_LABEL.has(command) && env.INPUT_LABEL ? ['--label', env.INPUT_LABEL] : [];
  const parallel = env.INPUT_PARALLEL && command !== 'land' ? ['--parallel', env.INPUT_PARALLEL] : [];
  const most = env.INPUT_MAX_COST ? ['--max-cost', env.INPUT_MAX_COST] : [];
  // It reacts to pull requests by what it is.
  const more = words(env.INPUT_ARGS).filter((word) => command !== 'react' || word !== '--pr');
  const known = command === 'land' ? more.filter((word) => word !== '--comment') : more;
  return [command, ...which, ...label, ...parallel, ...most, ...known, '--json'];
}

function write(file, text) {
  if (file) appendFileSync(file, text);
}

/** Of a watch there may be several. */
const summaries = [];
const requests = new Set();

function read(line) {
  let value;
  try {
    value = JSON.parse(line);
  } catch {
    return;
  }
  const ended = value.type === 'item-finished' ? value.outputs : (value.items ?? []).flatMap(({ outputs }) => outputs);
  for (const output of ended ?? [])
    if (/^https?:\/\/.+\/(?:pull|merge_requests)\/\d+$/.test(output)) requests.add(output);
  if (Array.isArray(value.items) && 'exitCode' in value) summaries.push(value);
}

/** One line of a table, of words that may come from outside. */
const cell = (text) =>
  String(text ?? '')
    .replace(/[\u0000-\u001F]+/g, ' ')
    .replace(/[\\|<>`*_[\]@#!]/g, '\\$&')
    .slice(0, 300);

function jobSummary(outcome, counts, cost) {
  const items = summaries.flatMap((summary) => summary.items);
  const rows = items.map(({ id, workflow, status, costUsd, reason, error, outputs }) =>
    [id, workflow, status, `$${(costUsd ?? 0).toFixed(4)}`, reason ?? error?.message ?? '', (outputs ?? []).join(' ')]
      .map(cell)
      .join(' | '),
  );
  const table = ['| Item | Stage | Status | Cost | Why | Outputs |', '| --- | --- | --- | --- | --- | --- |'];
  return [
    `## agentos: ${outcome}`,
    `${Object.entries(counts)
      .filter(([, count]) => count > 0)
      .map(([status, count]) => `${count} ${status}`)
      .join(', ')} · $${cost.toFixed(4)}`,
    ...(rows.length === 0 ? ['Nothing to do.'] : [[...table, ...rows.map((row) => `| ${row} |`)].join('\n')]),
    ...(requests.size === 0 ? [] : [[...requests].map((url) => `- ${url}`).join('\n')]),
    ...(gates.length === 0
      ? []
      : [`### Evidence\n\n| Item | Gate | Result |\n| --- | --- | --- |\n${gates.join('\n')}`]),
  ].join('\n\n');
}

/** What the gates saw last, by item. */
const seen = new Map();
function readGate(line) {
  if (!line.includes('"gate-checked"')) return;
  const { type, item, gate, passed, skipped, summary } = JSON.parse(line);
  if (type === 'gate-checked') seen.set(`${item} ${gate}`, { item, gate, passed, skipped, summary });
}

/*
 * The state folder alone does not resume everything in a fresh checkout: states of worktrees and finished branches are objects of git,
 * and designs that are not committed are files. Both are kept beside it.
 */
const KEPT = join('.agentos', 'ci');
const REFS = ['refs/agentos/*', 'refs/heads/agentos/*'];
const git = (...args) => spawnSync('git', args, { encoding: 'utf8', maxBuffer: 1 << 28 });

function bringBack() {
  const objects = join(KEPT, 'objects.git');
  if (existsSync(objects)) git('fetch', '--quiet', '--no-tags', objects, ...REFS.map((ref) => `+${ref}:${ref}`));
  const files = join(KEPT, 'files');
  if (existsSync(files)) cpSync(files, '.', { recursive: true, force: false });
}

function keep() {
  if (!existsSync('.agentos')) return;
  const objects = join(KEPT, 'objects.git');
  if (!existsSync(objects)) git('init', '--quiet', '--bare', objects);
  git('push', '--quiet', '--prune', '--no-verify', objects, ...REFS.map((ref) => `+${ref}:${ref}`));
  const files = join(KEPT, 'files');
  rmSync(files, { recursive: true, force: true });
  const listed = git('ls-files', '-z', '--others', '--exclude-standard', '--', 'docs/lld', 'docs/lineage').stdout;
  for (const path of listed.split('\0').filter(Boolean)) {
    mkdirSync(join(files, path, '..'), { recursive: true });
    cpSync(path, join(files, path));
  }
}

const isKept = env.INPUT_CACHE !== 'false';
if (isKept) bringBack();
const child = spawn(env.AGENTOS_PROGRAM || 'agentos', argumentsOf(), { stdio: ['ignore', 'pipe', 'inherit'] });
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill(signal));
createInterface({ input: child.stdout }).on('line', (line) => {
  read(line);
  readGate(line);
});
const code = await new Promise((resolve, reject) => {
  child.on('error', reject);
  child.on('close', (exit) => resolve(exit ?? 1));
});

if (isKept) keep();
const gates = [...seen.values()].map(
  ({ item, gate, passed, skipped, summary }) =>
    `| ${cell(item)} | ${cell(gate)} | ${cell(skipped !== null ? `not checked: ${skipped}` : passed ? `holds: ${summary}` : 'fails')} |`,
);
const outcome = OUTCOMES[code] ?? 'failed';
const counts = {};
for (const summary of summaries)
  for (const [status, count] of Object.entries(summary.counts)) counts[status] = (counts[status] ?? 0) + count;
const cost = summaries.flatMap((summary) => summary.items).reduce((sum, { costUsd }) => sum + (costUsd ?? 0), 0);
const outputs = {
  outcome,
  'exit-code': code,
  counts: JSON.stringify(counts),
  cost: cost.toFixed(6),
  'pull-requests': JSON.stringify([...requests]),
};
write(
  env.GITHUB_OUTPUT,
  Object.entries(outputs)
    .map(([name, value]) => `${name}=${value}\n`)
    .join(''),
);
write(env.GITHUB_STEP_SUMMARY, `${jobSummary(outcome, counts, cost)}\n`);
if (NEUTRAL[outcome]) process.stdout.write(`::notice title=agentos::${escaped(NEUTRAL[outcome])}\n`);
process.exitCode = NEUTRAL[outcome] ? 0 : code;
