// Runs the tour in a real terminal (tmux) and writes what a reader of the README sees: docs/images/run.svg, the terminal
// from start to end, and docs/samples/, the documents of one item. Nothing of it is drawn or edited by hand.
//   npm run build && node_modules/.bin/node scripts/record.mjs
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { svgOf } from './terminal-svg.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const COMMAND = 'agentos run --all --parallel 3 --offline';
const SIZE = { columns: 104, rows: 26 };
const FRAME_MS = 150;
const LONGEST_MS = 120_000;

const folder = mkdtempSync(join(realpathSync(tmpdir()), 'record-'));
const repository = join(folder, 'steep');
const prompts = join(folder, 'prompts');
const person = { NAME: 'Ada', EMAIL: 'ada@example.org' };
const identity = ['AUTHOR', 'COMMITTER'].flatMap((role) =>
  Object.entries(person).map(([name, value]) => [`GIT_${role}_${name}`, value]),
);
const env = {
  PATH: `${join(root, 'bin')}:${process.env.PATH}`,
  HOME: folder,
  LANG: 'C.UTF-8',
  ...Object.fromEntries(identity),
};
const run = (command, ...args) => execFileSync(command, args, { cwd: repository, env, encoding: 'utf8' });
const tmux = (...args) => run('tmux', '-L', `record-${process.pid}`, '-f', '/dev/null', ...args);

/** The terminal, as often as it changes, from the command to the next prompt. */
async function frames() {
  const { columns, rows } = SIZE;
  // The shell writes a line before each prompt, so that the end is seen without anything on the screen.
  const shell = `PS1='$ ' PROMPT_COMMAND='echo >> "${prompts}"' exec bash --norc --noprofile`;
  const size = ['-x', String(columns), '-y', String(rows)];
  tmux('new-session', '-d', '-s', 'tour', ...size, '-c', repository, shell);
  const prompted = () => (existsSync(prompts) ? readFileSync(prompts, 'utf8').length : 0);
  const startedAt = performance.now();
  const seen = [];
  try {
    for (let typed = false; performance.now() - startedAt < LONGEST_MS; await sleep(FRAME_MS)) {
      const ended = prompted() > 1;
      const screen = tmux('capture-pane', '-p', '-e', '-t', 'tour').replace(/\n$/, '');
      if (screen !== seen.at(-1)?.screen) seen.push({ atMs: performance.now() - startedAt, screen });
      if (ended) return seen;
      if (!typed && screen.trim() === '$') {
        tmux('send-keys', '-t', 'tour', COMMAND, 'Enter');
        typed = true;
      }
    }
    throw new Error(`The tour did not end within ${LONGEST_MS / 1000} s; the terminal shows:\n${seen.at(-1)?.screen}`);
  } finally {
    tmux('kill-server');
  }
}

function writeSample(name, text) {
  writeFileSync(join(root, 'docs', 'samples', name), text);
}

try {
  cpSync(join(root, 'examples', 'demo', 'repository'), repository, { recursive: true });
  for (const args of [
    ['init', '--quiet', '--initial-branch=main'],
    ['add', '--all'],
    ['commit', '--quiet', '-m', 'Start'],
  ])
    run('git', ...args);
  const recorded = await frames();
  writeFileSync(join(root, 'docs', 'images', 'run.svg'), svgOf(recorded, SIZE, COMMAND));

  const [branch] = run('git', 'branch', '--list', '--format=%(refname:short)', 'agentos/7-*').trim().split('\n');
  for (const name of ['7.md', '7.lld.md']) writeSample(name, run('git', 'show', `${branch}:docs/reports/${name}`));
  writeSample('7.issue.md', readFileSync(join(repository, 'issues', '7.md'), 'utf8'));
  writeSample('7.review.md', readFileSync(join(repository, 'docs', 'lineage', '7', '003-verdict.md'), 'utf8'));
  process.stdout.write(`docs/images/run.svg (${recorded.length} frames), docs/samples/\n`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
