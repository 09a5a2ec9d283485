/** What the engine checks itself of an implementation, in this order. */
export type GateName = 'tests' | 'red' | 'frozen' | 'green' | 'coverage' | 'reverse';

export interface GateCounts {
  passed: number;
  failed: number;
  skipped: number;
  /** Files or packages whose tests never began. */
  notLoaded: number;
}

/** What a gate saw; it goes to the audit file and into the report. */
export interface GateEvidence {
  gate: GateName;
  passed: boolean;
  /** Why it was not checked; null: it was. */
  skipped: string | null;
  /** The command whose report was read; null where none was run. */
  command: string | null;
  counts: GateCounts | null;
  /** sha256 over the names and outcomes of the tests, or over the frozen files. */
  hash: string | null;
  /** Of a gate that holds, in a few words: `2 new tests fail, as they should`. */
  summary: string;
  details: string[];
  problems: string[];
}
