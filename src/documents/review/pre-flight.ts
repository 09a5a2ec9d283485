import { linesOf } from './lines.ts';
import { isNoFinding, saysSettled } from './no-finding.ts';
import type { Part } from './outline.ts';
import type { Finding, PreFlight } from './review.ts';
import { blockText } from './text.ts';

const LABELLED = /^\W*pre-?\s?flight(?: gate| check)?\s*(?:status|result)?\s*[:=–—(-]+\s*(.*)$/i;

function outcome(statement: string): PreFlight | null {
  const text = statement.replace(/^\W+/, '').replace(/^(?:gate|status|result|outcome|overall)\W+/i, '');
  if (/^(?:not passed|fail(?:ed|s|ure)?)(?!\w|-\w)/i.test(text)) return 'FAILED';
  return /^pass(?:ed|es)?(?!\w|-\w)/i.test(text) ? 'PASSED' : null;
}

/** What the gate says, in its heading, in its first plain statement, or else in any of its checks: one failure fails it. */
export function preFlightOf(parts: Part[]): PreFlight | null {
  const gate = parts.filter((part) => part.kind === 'pre-flight');
  for (const part of gate) {
    const inTitle = outcome(LABELLED.exec(part.title)?.[1] ?? '');
    if (inTitle) return inTitle;
  }
  const lines = gate.flatMap((part) => part.blocks.flatMap((node) => linesOf(node)));
  for (const line of lines) {
    const stated = line.box === null ? outcome(line.text) : null;
    if (stated) return stated;
  }
  const said = lines.map((line) => line.text).join('\n');
  if (/\bFAIL(?:ED)?\b|\bgate (?:has )?fail(?:s|ed)\b/.test(said)) return 'FAILED';
  if (/\bPASS(?:ED)?\b|\b(?:gate|checks|elements|requirements)\b.*\bpass(?:ed)?\b/.test(said)) return 'PASSED';
  const elsewhere = parts
    .filter((part) => part.kind !== 'previous')
    .flatMap((part) => part.blocks)
    .flatMap((node) => linesOf(node))
    .map((line) => outcome(LABELLED.exec(line.text)?.[1] ?? ''));
  return elsewhere.find((found) => found !== null) ?? null;
}

/** What a failed gate found missing: its points, or its text when it lists none. */
export function gateFindings(parts: Part[]): Finding[] {
  const gate = parts.filter((part) => part.kind === 'pre-flight');
  const nodes = gate.flatMap((part) => part.blocks);
  const finding = (text: string): Finding => ({ tier: 1, area: 'Pre-Flight', text });
  const points = nodes
    .flatMap((node) => (node.type === 'list' ? node.children : []))
    .filter((item) => item.checked !== true)
    .map((item) => blockText(item.children))
    .filter((text) => !isNoFinding(text) && !saysSettled(text) && !/^\s*[✓✔✅]|\bPASS(?:ED)?\b/.test(text));
  if (points.length > 0) return points.map(finding);
  const prose = nodes
    .filter((node) => node.type === 'paragraph')
    .map((node) => blockText([node]))
    .filter((text) => text !== '' && !/^\W*(?:verdict\b.*|(?:pre-?flight gate\W*)?failed\W*)$/i.test(text));
  return [finding(prose.length > 0 ? prose.join('\n') : 'The Pre-Flight gate failed.')];
}
