import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readFrontMatter } from '../../src/documents/header.ts';
import { codeOf, testsOf } from '../support/model-with-tools.ts';
import type { Facts } from './facts.ts';

/** When the faults have stopped every item comes to its end, and to the one that it would have had without them. */
export async function missingOutcomes(facts: Facts): Promise<string[]> {
  const { resumed, scenario } = facts;
  const last = resumed.at(-1);
  const problems = resumed
    .filter(({ code }) => code === 2)
    .map(({ args, stderr }) => `${args[0]} is refused: ${stderr.trim()}`);
  if (last?.code !== 0) {
    const items = last?.summary?.items
      .map(({ id, status, error }) => `${id} ${status} ${error?.message ?? ''}`)
      .join('; ');
    problems.push(
      `after ${resumed.length} resumes it still ends with ${last?.code}: ${items ?? last?.stderr.trim().slice(-400)}`,
    );
  }
  const { workflow, ids } = scenario.world;
  if (workflow === 'lld' || workflow === 'run')
    for (const id of ids) problems.push(...(await missingDesign(facts, id)));
  if (workflow === 'implement' || workflow === 'run') for (const id of ids) problems.push(...missingBranch(facts, id));
  if (workflow === 'issue') problems.push(...(await missingIssues(facts)));
  return problems;
}

async function missingDesign({ ground }: Facts, id: string): Promise<string[]> {
  const text = await ground.repository.read(`docs/lld/LLD-${id}.md`).catch(() => '');
  if (text === '') return [`there is no LLD for ${id}`];
  const lineage = await ground.repository.list(`docs/lineage/${id}`);
  const final = lineage.findLast((name) => name.endsWith('-final.md'));
  if (final === undefined) return [`the lineage of ${id} has no final`];
  const stored = await readFile(join(ground.repository.root, 'docs/lineage', id, final), 'utf8');
  return stored === text ? [] : [`the last final of ${id} is not its LLD`];
}

function missingBranch({ ground, scenario }: Facts, id: string): string[] {
  const git = (...args: string[]): string => ground.repository.git(...args);
  const branches = git('for-each-ref', '--format=%(refname:short)', `refs/heads/agentos/${id}-*`)
    .split('\n')
    .filter(Boolean);
  const [branch] = branches;
  if (branch === undefined) return [`there is no branch for ${id}`];
  if (branches.length > 1) return [`there are ${branches.length} branches for ${id}: ${branches.join(', ')}`];
  const paths = git('ls-tree', '-r', '--name-only', branch).split('\n');
  const show = (path: string): string => (paths.includes(path) ? `${git('show', `${branch}:${path}`)}\n` : '');
  const expected: [string, (text: string) => boolean][] = [
    [`src/item-${id}.js`, (text) => text === codeOf(id)],
    [`test/item-${id}.test.js`, (text) => text === testsOf(id)],
    [`docs/reports/${id}.md`, (text) => text.includes(id)],
  ];
  const others = scenario.world.ids.filter((other) => other !== id && paths.includes(`src/item-${other}.js`));
  return [
    ...expected
      .filter(([path, isRight]) => !isRight(show(path)))
      .map(([path]) => `${branch} has not the right ${path}`),
    ...others.map((other) => `${branch} has the code of ${other}`),
  ];
}

async function missingIssues({ ground, scenario }: Facts): Promise<string[]> {
  const names = await ground.repository.list('issues');
  const briefs = await Promise.all(
    names.map(async (name) => readFrontMatter(await ground.repository.read(`issues/${name}`)).fields['brief']),
  );
  return scenario.world.ids.flatMap((id) => {
    const count = briefs.filter((brief) => String(brief).includes(id)).length;
    return count === 1 ? [] : [`${id} became ${count} issues`];
  });
}
