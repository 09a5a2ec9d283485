import type { DocumentFinding } from '../../governance/document-finding.ts';
import type { Place, Scaffold } from './scaffold-writer.ts';

const MOST_PASSES = 4;

/**
 * What the mechanical checks would hold against somebody's words (a retry without a bound, a `TBD`, a path that can't be) is
 * moved into a quotation and asked about, so that the draft passes and nothing is lost in silence. Each pass can only move
 * more words, and the last one moves all of them but those that are kept.
 */
export function withholdUntilClean(
  render: (withheld: ReadonlySet<Place>) => Scaffold,
  check: (text: string) => DocumentFinding[],
  isKept: (place: Place) => boolean = () => false,
): string {
  const withheld = new Set<Place>();
  for (let pass = 1; ; pass++) {
    const { text, places } = render(withheld);
    const errors = check(text).filter(({ severity }) => severity === 'error');
    if (errors.length === 0 || pass === MOST_PASSES) return text;
    const flagged = errors.flatMap(({ line }) => places.get(line) ?? []);
    const isStuck = flagged.length === 0 || pass === MOST_PASSES - 1;
    for (const place of isStuck ? [...places.values()].filter((name) => !isKept(name)) : flagged) withheld.add(place);
  }
}
