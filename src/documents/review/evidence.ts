import type { BaseTree } from '../lld/checks.ts';
import type { Finding, Review } from './review.ts';

/** By its form alone: code or words in quotation marks, a path, a number that something is known by, or a part's own name. */
const EVIDENCE = [
  /`[^`\n]+`|["“][^"”\n]{3,}["”]/,
  /(?:^|[\s(])[\w.@-]+\/[\w./@-]*\w|\b[\w-]{2,}\.[a-z]{1,5}\b/i,
  /§|\b\d{3}[a-z]?\b|\b\d+\.\d+\b|\b(?:REQ|AC|F)-?\d+\b|\blines? \d/i,
  /\b(?:section|requirement|scenario|criteri(?:on|a)|issue|brief|open question|diagram|signature|table)s?\b/i,
];

export function namesEvidence(text: string): boolean {
  return EVIDENCE.some((pattern) => pattern.test(text));
}

const CITED = /(?<![\w/:.~@*-])((?:[\w-][\w.-]*\/)+[\w-][\w.-]*\.[A-Za-z]\w{0,5})(?::(\d+))?(?![\w/*])/g;
/** A recommendation may name what is to be made. */
const RECOMMENDED = /^\W*(?:recommendation|suggestion|fix)\b/im;
const HOST = /^[\w-]+(?:\.[\w-]+)*\.(?:com|org|net|io|dev)\//i;

function citationsIn(text: string): { path: string; line: number | null }[] {
  const [said = ''] = text.split(RECOMMENDED);
  return [...said.matchAll(CITED)].flatMap(([, path = '', line]) =>
    HOST.test(path) ? [] : [{ path, line: line === undefined ? null : Number(line) }],
  );
}

/** What citations are held against. */
export interface CitedTree extends Pick<BaseTree, 'kindOf'> {
  read(path: string): Promise<Buffer>;
}

export interface Weighed {
  /** With a mark on the findings that hold nothing back. */
  review: Review;
  /** Findings that cite what is not there. */
  wrong: string[];
}

/**
 * A finding of Tier 1 or 2 has to name what it rests on; one that names nothing, or only what is not there, is a suggestion.
 * The verdict and the tiers stay what the document says. `known`: texts that may name files that are still to be made.
 */
export async function weighEvidence(review: Review, tree: CitedTree, known: readonly string[]): Promise<Weighed> {
  const wrong: string[] = [];
  const weigh = async (finding: Finding): Promise<Finding> => {
    if (finding.tier === 3 || review.verdict === 'APPROVED') return finding;
    const missing = await missingIn(finding.text, tree, known);
    const [title = ''] = finding.text.split('\n', 1);
    wrong.push(...missing.map((what) => `"${title.slice(0, 100)}" cites what is not there: ${what}`));
    return missing.length > 0 || !namesEvidence(finding.text) ? { ...finding, isUnproven: true } : finding;
  };
  const findings: Finding[] = [];
  for (const finding of review.findings) findings.push(await weigh(finding));
  return { review: { ...review, findings }, wrong };
}

async function missingIn(text: string, tree: CitedTree, known: readonly string[]): Promise<string[]> {
  const missing: string[] = [];
  for (const { path, line } of citationsIn(text)) {
    const kind = tree.kindOf(path);
    if (kind === null && !known.some((one) => one.includes(path))) missing.push(path);
    if (kind !== 'file' || line === null) continue;
    const lines = (await tree.read(path)).toString('utf8').replace(/\n$/, '').split('\n').length;
    if (line < 1 || line > lines) missing.push(`${path}:${line} (it has ${lines} lines)`);
  }
  return missing;
}
