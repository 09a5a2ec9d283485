/** The gates of an implementation, in this order. */
export type GateName = 'tests' | 'red' | 'frozen' | 'green' | 'coverage' | 'reverse';

export interface GateCounts {
  passed: number;
  failed: number;
  skipped: number;
  /** Files or packages whose tests could not be loaded. */
  notLoaded: number;
}

/** What a gate saw, for the audit file and the report. */
export interface GateEvidence {
  gate: GateName;
  passed: boolean;
  /** Why the gate was skipped; null: it was checked. */
  skipped: string | null;
  /** The command whose report was read; null: none was run. */
  command: string | null;
  counts: GateCounts | null;
  /** sha256 over the names and outcomes of the tests, or over the frozen files. */
  hash: string | null;
  /** If it passed: `2 new tests fail, as they should`. */
  summary: string;
  details: string[];
  problems: string[];
}
