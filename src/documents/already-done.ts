import { lineOf, markedText, normaliseText, parseMarkdown, plainText, sectionsOf } from '../markdown/markdown.ts';
import { readTitle } from '../markdown/words.ts';
import { type DocumentFinding, error, quote } from './finding.ts';
import type { CitedTree } from './lld/files.ts';

/** Lines of a file that show that something is done. */
export interface Evidence {
  path: string;
  from: number;
  to: number;
}

interface EvidenceItem {
  /** Null if it names no path with lines. */
  cited: Evidence | null;
  text: string;
  /** The words behind the citation. */
  says: string;
  line: number;
}

const CITATION = /^(?:\.\/)?(.+?)(?::|#)L?(\d{1,9})(?:[-–—]L?(\d{1,9}))?$/;

/** Issues and designs say what is wanted, so they are no evidence that it exists. */
const ASKED_FOR = /^(?:(?:issues|briefs)\/[^/]+\.md$|docs\/(?:lld\/LLD-|lineage\/))/;

/** `src/main.js:3-9`, as documents and messages cite it. */
export function citationOf({ path, from, to }: Evidence): string {
  return `${path}:${from}${to === from ? '' : `-${to}`}`;
}

/** The citations of files and lines below the heading Evidence of a claim or a review. */
export function evidenceIn(text: string): Evidence[] {
  return itemsIn(normaliseText(text)).flatMap(({ cited }) => cited ?? []);
}

/** Checks the form of a claim: its sections are present, and its evidence exists. */
export async function checkAlreadyDone(draft: string, tree: CitedTree): Promise<DocumentFinding[]> {
  const text = normaliseText(draft);
  const findings: DocumentFinding[] = [];
  const items = itemsIn(text);
  if (items.length === 0)
    findings.push(
      error('evidence-missing', 1, 'No evidence: list it under "## Evidence" as `path:from-to`, or write the LLD.'),
    );
  for (const { cited, text: said, says, line } of items) {
    if (cited === null) {
      findings.push(error('evidence-unread', line, `${quote(said)} does not begin with \`path:from-to\`.`));
      continue;
    }
    const missing = await missingEvidence(cited, tree);
    if (missing !== null) findings.push(error('evidence-missing', line, `${missing}: correct it, or write the LLD.`));
    else if (says === '')
      findings.push(error('evidence-unread', line, `${citationOf(cited)}: say what these lines show.`));
  }
  if (sectionOf(text, 'Why')?.all.every((node) => plainText(node) === '') ?? true)
    findings.push(error('why-missing', 1, '"## Why" is missing or empty: say of each requirement why it is met.'));
  return findings;
}

/** Why a citation is no evidence; null if the lines exist. */
export async function missingEvidence(cited: Evidence, tree: CitedTree): Promise<string | null> {
  const { path, from, to } = cited;
  if (ASKED_FOR.test(path)) return `${path} only asks for the change`;
  if (tree.kindOf(path) !== 'file') return `${path} is not a file at the base commit`;
  // A submodule has no text.
  const content = await tree.read(path).catch(() => null);
  const lines = content === null || content.length === 0 ? 0 : linesOf(content.toString('utf8')).length;
  return from >= 1 && from <= to && to <= lines
    ? null
    : `${citationOf(cited)} is not in the file, which has ${lines} lines`;
}

/** The lines of a text; a final line break does not begin another one. */
export function linesOf(text: string): string[] {
  return text.replace(/\n$/, '').split('\n');
}

function sectionOf(text: string, title: string) {
  const key = readTitle(title).key;
  return sectionsOf(parseMarkdown(text)).find((section) => readTitle(section.title).key === key);
}

function itemsIn(text: string): EvidenceItem[] {
  const lists = (sectionOf(text, 'Evidence')?.all ?? []).flatMap((node) => (node.type === 'list' ? node.children : []));
  return lists.map((item) => {
    const said = markedText(item);
    // A path with spaces must be in backticks.
    const [, code, word = '', rest = ''] = /^(?:`([^`\n]+)`|(\S+))([^]*)$/.exec(said) ?? [];
    const [, path, from, to = from] = CITATION.exec(code ?? word.replace(/[,;:.)]+$/, '')) ?? [];
    const cited = path === undefined ? null : { path, from: Number(from), to: Number(to) };
    return { cited, text: said, says: rest.replace(/^[\s\W]+/, ''), line: lineOf(item) };
  });
}
