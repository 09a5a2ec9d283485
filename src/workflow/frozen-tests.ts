import type { GateEvidence } from '../core/gate.ts';
import { sha256 } from '../core/hash.ts';
import type { FrozenFile } from '../documents/implementation/report.ts';
import type { TreeChange, Worktree } from '../git/worktree/worktree.ts';

export const FROZEN = 'the tests are frozen while the code is written';

/** Something that was put back. */
export interface Undone {
  step: string;
  paths: string[];
  why: string;
}

export async function hashesOf(worktree: Worktree, tree: string, frozen: readonly TreeChange[]): Promise<FrozenFile[]> {
  const there = frozen.filter(({ kind }) => kind !== 'deleted');
  return Promise.all(
    there.map(async ({ path }) => ({ path, sha256: sha256((await worktree.read(tree, path)) ?? '') })),
  );
}

export function frozenEvidence(files: readonly FrozenFile[], undone: readonly Undone[]): GateEvidence {
  const lines = files.map(({ path, sha256: hash }) => `${path}: ${hash}`);
  const touched = undone.filter(({ why }) => why === FROZEN);
  return {
    gate: 'frozen',
    passed: true,
    skipped: null,
    command: null,
    counts: null,
    problems: [],
    hash: sha256(lines.join('\n')),
    summary: `${files.length} test ${files.length === 1 ? 'file is as it was' : 'files are as they were'}${touched.length === 0 ? '' : ', changes undone'}`,
    details: [...lines, ...touched.map(({ step, paths }) => `undone in ${step}: ${paths.join(', ')}`)],
  };
}
