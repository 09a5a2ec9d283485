import type { DocumentFinding } from './document-finding.ts';
import type { Duplicate } from './issue/duplicates.ts';
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
    }
  | {
      task: 'code-review';
      issue: Pick<IssueMaterial, 'id' | 'title'>;
      lld: string;
      /** As git prints it. */
      diff: string;
      round: number;
      /** What each gate said: its problems, or why it was not checked. */
      evidence: readonly { gate: string; passed: boolean; summary: string }[];
    }
  | BriefMaterial;

/** Of an issue that is written from a brief. */
export type BriefMaterial =
  | { task: 'issue-draft'; brief: IssueMaterial }
  | { task: 'issue-repair' | 'issue-revise'; brief: IssueMaterial; draft: string; round: number }
  | {
      task: 'issue-review';
      brief: IssueMaterial;
      draft: string;
      round: number;
      checks: readonly DocumentFinding[];
      coverage: string;
      duplicates: readonly Duplicate[];
    };

export interface IssueMaterial {
  id: string;
  title: string;
  body: string;
  hash: string;
}
