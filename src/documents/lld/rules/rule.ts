import type { DocumentFinding } from '../../document-finding.ts';
import type { LldDocument } from '../document.ts';

export type LldFinding = DocumentFinding;

/** The repository at the base commit. Paths are relative to its root, with `/` between names. */
export interface BaseTree {
  kindOf(path: string): 'file' | 'directory' | null;
}

export interface RuleContext {
  /** The issue that the LLD must answer; null when the caller doesn't know it. */
  issueId: string | null;
  /** Null when there is no repository: whether paths exist is not checked then. */
  tree: BaseTree | null;
}

/** Pure: the same document and context give the same findings. */
export type Rule = (lld: LldDocument, context: RuleContext) => LldFinding[];

export function error(rule: string, line: number, message: string): LldFinding {
  return { rule, severity: 'error', line, message };
}

export function warning(rule: string, line: number, message: string): LldFinding {
  return { rule, severity: 'warning', line, message };
}

/** A piece of the document for a message, cut to a readable length. */
export function quote(text: string): string {
  const flat = text.replace(/\s+/g, ' ').trim();
  return `"${flat.length > 80 ? `${flat.slice(0, 77)}…` : flat}"`;
}
