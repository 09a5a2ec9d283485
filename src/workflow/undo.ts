import { join, posix } from 'node:path';
import { shownPath } from '../core/paths.ts';
import type { TreeChange } from '../git/worktree/worktree.ts';
import { writeFileAtomic } from '../process/files.ts';
import type { ImplementContext } from './implement-item.ts';

/** Changes that were not allowed where they were made, and were put back. */
export interface Undone {
  step: string;
  paths: string[];
  why: string;
}

/** What may not be changed in a step. `name` is part of the patch's name. */
export interface Rule {
  name: string;
  why: string;
  /** For the writer. */
  advice?: string;
  forbids: (change: TreeChange, linksOutside: ReadonlySet<string>) => boolean;
}

type UndoContext = Pick<ImplementContext, 'id' | 'workflow' | 'paths' | 'worktree' | 'emit' | 'mask'>;

export const DESIGNS: Rule = {
  name: '-designs',
  why: 'designs are no part of an implementation',
  // In the checkout these may be untracked: a branch that touches them could not be merged there.
  forbids: ({ path }) => /^docs\/(?:lld\/LLD-|lineage\/)/.test(path),
};

export const STATE: Rule = {
  name: '-state',
  why: 'the state folder is no part of an implementation',
  forbids: ({ path }) => /^\.agentos(?:\/|$)/i.test(path),
};

export const LINKS: Rule = {
  name: '-links',
  why: 'a link that points out of the repository',
  forbids: ({ path }, linksOutside) => linksOutside.has(path),
};

/**
 * Puts back as it is in `source` what the rules forbid; each change counts for the first of them. What it was is kept as a
 * whole patch, so that nothing is lost.
 */
export async function undoForbidden(
  context: UndoContext,
  { tree, source, step }: { tree: string; source: string; step: string },
  rules: readonly Rule[],
): Promise<{ tree: string; undone: Undone[]; notes: string[] }> {
  const { id, workflow, worktree, emit, mask } = context;
  const changes = await worktree.changes(source, tree);
  const links = await linksOutside(context, tree, changes);
  const byRule = Map.groupBy(changes, (change) => rules.find(({ forbids }) => forbids(change, links)) ?? null);
  let kept = tree;
  const undone: Undone[] = [];
  const notes: string[] = [];
  for (const rule of rules) {
    const paths = (byRule.get(rule) ?? []).map(({ path }) => path);
    if (paths.length === 0) continue;
    const name = `${step}${rule.name}`;
    const before = kept;
    kept = await worktree.withPathsFrom(before, source, paths);
    const patch = join(context.paths.undone(workflow, id), `${name}.patch`);
    // Secrets are ASCII; read as one byte a character, what is not UTF-8 stays as it is.
    const text = (await worktree.patch(kept, before)).toString('latin1');
    await writeFileAtomic(patch, Buffer.from(mask(text), 'latin1'));
    const { why, advice = why } = rule;
    emit({ type: 'changes-undone', step: name, paths, why, patch: shownPath(context.paths.repository, patch) });
    undone.push({ step: name, paths, why });
    notes.push(...paths.map((path) => `${path} was undone: ${advice}`));
  }
  return { tree: kept, undone, notes };
}

/** Symbolic links among the changes that point out of the repository: on another machine they lead nowhere. */
async function linksOutside(
  { worktree }: UndoContext,
  tree: string,
  changes: readonly TreeChange[],
): Promise<ReadonlySet<string>> {
  const outside = new Set<string>();
  for (const { path } of changes.filter((change) => change.isLink)) {
    const target = ((await worktree.read(tree, path)) ?? '').trim();
    const end = posix.join(posix.dirname(path), target);
    if (posix.isAbsolute(target) || end === '..' || end.startsWith('../')) outside.add(path);
  }
  return outside;
}
