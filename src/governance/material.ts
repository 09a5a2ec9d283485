import type { LldFinding } from './lld/checks.ts';

/**
 * What a prompt was made from. The embedded model works on this; every other provider gets the prompt's text and never
 * looks here.
 */
export type Material =
  | { task: 'draft'; issue: IssueMaterial; paths: readonly string[] }
  | { task: 'repair' | 'revise'; issue: IssueMaterial; draft: string; round: number }
  | {
      task: 'review';
      issue: IssueMaterial;
      draft: string;
      round: number;
      checks: readonly LldFinding[];
      coverage: string;
    };

export interface IssueMaterial {
  id: string;
  title: string;
  body: string;
  hash: string;
}
