import { readFrontMatter } from '../lld/front-matter.ts';

/** What a report says was implemented, and where. */
export interface Implemented {
  /** Of the LLD's body as it was approved: the design is recognised by it, wherever its file is. */
  lldHash: string;
  branch: string;
}

/** The status that a report records; null for any other text. */
export function readReportStatus(report: string): Implemented | null {
  const { fields } = readFrontMatter(report);
  const { status, lldHash, branch } = fields;
  if (status !== 'implemented' || typeof lldHash !== 'string' || typeof branch !== 'string') return null;
  return { lldHash, branch };
}
