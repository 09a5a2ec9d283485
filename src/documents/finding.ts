/** What a mechanical check found in a document. */
export interface DocumentFinding {
  rule: string;
  /** Only errors hold a draft back; warnings go to the reviewer. */
  severity: 'error' | 'warning';
  line: number;
  /** One line: what is wrong and what to do. */
  message: string;
}

export function error(rule: string, line: number, message: string): DocumentFinding {
  return { rule, severity: 'error', line, message };
}

export function warning(rule: string, line: number, message: string): DocumentFinding {
  return { rule, severity: 'warning', line, message };
}

/** The first line of a text, shortened. */
export function headline(text: string, most = 120): string {
  const line = text.trim().split('\n', 1)[0] ?? '';
  return line.length > most ? `${line.slice(0, most - 1).trimEnd()}…` : line;
}

/** A short quotation for a message. */
export function quote(text: string): string {
  return `"${headline(text.replace(/\s+/g, ' '), 80)}"`;
}
