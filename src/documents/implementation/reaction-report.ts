import type { GateEvidence } from '../../core/gate.ts';
import { asText, gateTable } from './markdown-text.ts';

interface ReportedReaction {
  cycle: number;
  /** May contain words from outside. */
  what: string;
  evidence: readonly GateEvidence[];
}

/** Adds a section with the gates after a reaction, which replaces earlier evidence for the pull request. */
export function withReaction(report: string, { cycle, what, evidence }: ReportedReaction): string {
  const gates = evidence.length === 0 ? 'No gate was checked.' : gateTable(evidence);
  return `${report.trimEnd()}\n\n## Gates after reaction ${cycle}\n\nTo: ${asText(what)}\n\n${gates}\n`;
}

/** Sections of a report with evidence of the gates; the last one counts. */
export function isGatesTitle(title: string): boolean {
  return title === 'Gates' || /^Gates after reaction \d+$/.test(title);
}
