/** What a mechanical check found in a document. */
export interface DocumentFinding {
  rule: string;
  /** Only errors hold a draft back; warnings go to the reviewer. */
  severity: 'error' | 'warning';
  line: number;
  /** One line: what is wrong and what to do. */
  message: string;
}
