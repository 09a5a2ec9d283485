import type { Line } from './lines.ts';
import type { Ruling } from './review.ts';

const IDS = /^\W{0,4}(?:findings? )?(F\d+(?:\s*(?:,|and|&|\/|or)\s*F\d+)*)\b/i;
const STATE_FIRST = /^\W{0,3}(?:now )?([a-z -]+?)\s*[:–—-]\s*(F\d+(?:\s*(?:,|and|&|\s)\s*F\d+)*)\W*$/i;
const FILLER =
  /^(?:\s|[*_:|.,–—-]|\([^)]*\)|\b(?:is|are|was|were|has|have|been|now|both|all|status|state|considered)\b)*/i;

const STATES: [Ruling['state'], RegExp][] = [
  [
    'open',
    /^(?:not (?:yet |fully )?(?:fixed|resolved|settled|addressed)|still\b|remains?\b|unresolved|unaddressed|unsettled|reopened|outstanding|partial(?:ly)?\b|open\b)/i,
  ],
  ['withdrawn', /^(?:withdrawn?|dropped|retracted|no longer (?:applies|applicable|relevant))/i],
  ['fixed', /^(?:settled|fixed|resolved|addressed|closed|done|satisfied|✅|✓|✔)(?![\w-])/i],
];

function stateOf(statement: string): Ruling['state'] | null {
  const text = statement.replace(FILLER, '');
  return STATES.find(([, pattern]) => pattern.test(text))?.[0] ?? null;
}

/** After the ids the state comes first, or last behind a description; in a table it is a cell, and the last one counts. */
function stateInRest(rest: string): Ruling['state'] | null {
  if (rest.includes(' | '))
    return (
      rest
        .split(' | ')
        .map(stateOf)
        .findLast((state) => state !== null) ?? null
    );
  return stateOf(rest) ?? stateOf(/[:–—(-]\s*([^:–—(]*)$/.exec(rest)?.[1] ?? '');
}

/** "F2: settled", "F1 and F3 are fixed", "F4 – Unbounded retry loop: still open", "Settled: F1, F2", "[x] F5 …". */
export function rulingsIn(lines: Line[]): Ruling[] {
  const rulings: Ruling[] = [];
  for (const line of lines) {
    if (!/\bF\d/i.test(line.text)) continue;
    for (const clause of line.text.split(
      /;\s+|\.\s+(?=(?:Finding )?F\d)|,\s+(?=F\d+[^,]*\b(?:is|are|was|remains?|still)\b)/,
    )) {
      const [, state, idsLast] = STATE_FIRST.exec(clause) ?? [];
      const [matched, idsFirst] = IDS.exec(clause) ?? [];
      const ids = idsLast ?? idsFirst;
      if (ids === undefined) continue;
      const rest = clause.slice(matched?.length ?? 0);
      const said = state !== undefined ? stateOf(state) : stateInRest(rest);
      const ruled = said ?? (line.box === 'ticked' ? 'fixed' : null);
      if (ruled === null) continue;
      for (const id of ids.match(/F\d+/gi) ?? []) rulings.push({ id: id.toUpperCase(), state: ruled });
    }
  }
  return rulings;
}
