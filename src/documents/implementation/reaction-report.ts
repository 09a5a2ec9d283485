import type { GateEvidence } from '../../core/gate.ts';
import { asText, gateTable } from './markdown-text.ts';

interface ReportedReaction {
  cycle: number;
  /** In words that may be from outside. */
  what: string;
  evidence: readonly GateEvidence[];
}

/** A report with one more section: what the gates saw after a reaction. That is the evidence for the pull request from then on. */
export function withReaction(report: string, { cycle, what, evidence }: ReportedReaction): string {
  const gates = evidence.length === 0 ? 'No gate was checked.' : gateTable(evidence);
  return `${report.trimEnd()}\n\n## Gates after reaction ${cycle}\n\nTo: ${asText(what)}\n\n${gates}\n`;
}

/** The sections of a report that say what the gates saw; the last one counts. */
export function isGatesTitle(title: string): boolean {
  return title === 'Gates' || /^Gates after reaction \d+$/.test(title);
}
