import type { DocumentFinding } from '../../document-finding.ts';
import type { IssueDocument } from '../document.ts';

/** Pure: the same document gives the same findings. */
export type IssueRule = (issue: IssueDocument) => DocumentFinding[];
