import { readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { bodyHash, readFrontMatter } from '../../src/documents/header.ts';
import { treeOf } from '../support/tree.ts';
import type { Facts } from './facts.ts';

/** Files of ours in the checkout and in the state folder, by their path. */
async function ourFiles({ ground }: Facts): Promise<string[]> {
  const { repository, state, work } = ground;
  const ours = ['docs', 'issues', 'briefs'].map((name) => join(repository.root, name));
  const folders = new Set([...ours, state, work]);
  const all = await Promise.all(
    [...folders].map(async (folder) =>
      Object.entries(await treeOf(folder).catch(() => ({}))).map(([path, kind]) => ({
        path: join(folder, path),
        kind,
      })),
    ),
  );
  return all
    .flat()
    .filter(({ kind }) => kind !== 'folder')
    .map(({ path }) => path);
}

export async function brokenFiles(facts: Facts): Promise<string[]> {
  const problems: string[] = [];
  for (const path of await ourFiles(facts)) {
    const check = CHECKS.find(([pattern]) => pattern.test(path))?.[1];
    const problem = check?.(await readFile(path, 'utf8').catch((error: unknown) => String(error)));
    if (problem) problems.push(`${path.slice(facts.ground.repository.root.length)}: ${problem}`);
  }
  return problems;
}

type Check = (text: string) => string | null;

const json: Check = (text) => {
  try {
    JSON.parse(text);
    return null;
  } catch (error) {
    return `${String(error)}: ${text.slice(0, 80)}`;
  }
};

const lines: Check = (text) => {
  const bad = text.split('\n').findIndex((line) => line !== '' && json(line) !== null);
  return bad === -1 ? null : `line ${bad + 1} is torn: ${text.split('\n')[bad]?.slice(0, 80)}`;
};

/** The next line is written behind it. */
const appended: Check = (text) =>
  text === '' || text.endsWith('\n') ? lines(text) : `its last line is torn: ${text.slice(-80)}`;

const document: Check = (text) =>
  text.endsWith('\n') && !text.includes('\0') ? null : `it is not whole (${text.length} characters)`;

const design: Check = (text) => {
  const { fields, body } = readFrontMatter(text);
  if (fields['status'] !== 'approved') return `its status is ${String(fields['status'])}`;
  return fields['bodyHash'] === bodyHash(body) ? document(text) : 'its body is not the one that was approved';
};

const CHECKS: [RegExp, Check][] = [
  [/\/docs\/lld\/LLD-[\w-]+\.md$/, design],
  [/\/(?:docs|issues)\/.*\.md$/, document],
  [/\/(?:run|summary|keys)\.json$/, json],
  [/\/runs\/.*\.jsonl$/, appended],
  [/\.jsonl$/, lines],
];

/** When all items are done and nothing runs, nothing speaks of work under way. */
export async function leftBehind(facts: Facts): Promise<string[]> {
  const { ground } = facts;
  const files = await ourFiles(facts);
  const temporary = files.filter((path) => /\.tmp$|\.lock\.\d+$|\.guard$|\.new-\d+$/.test(basename(path)));
  const work = files.filter((path) =>
    /^\/(?:locks|checkpoints|worktrees|homes)\/./.test(path.replace(ground.state, '').replace(ground.work, '')),
  );
  const isOver = facts.resumed.at(-1)?.code === 0;
  const git = join(ground.repository.root, '.git');
  const locks = Object.keys(await treeOf(git)).filter(
    (path) => path.endsWith('.lock') || /^worktrees\/[^/]+$/.test(path),
  );
  const refs = ground.repository.git('for-each-ref', '--format=%(refname)', 'refs/agentos').split('\n').filter(Boolean);
  const left = [...new Set([...temporary, ...(isOver ? work : [])])].map((path) => path.replace(ground.state, ''));
  return [...left, ...(isOver ? [...locks.map((path) => `.git/${path}`), ...refs] : [])];
}
