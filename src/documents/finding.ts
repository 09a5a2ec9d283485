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

/** A piece of the document for a message, cut to a readable length. */
export function quote(text: string): string {
  const flat = text.replace(/\s+/g, ' ').trim();
  return `"${flat.length > 80 ? `${flat.slice(0, 77)}…` : flat}"`;
}
