const PREFIX = String.raw`(?:requirements?|reqs?|fr|nfr|ac|r)(?![a-z])[\s._:#-]*|#\s*`;
const PREFIXED = new RegExp(String.raw`(?<![\p{L}\p{N}_])(?:${PREFIX})0*(\d{1,4})(?!\d)`, 'giu');
const RANGE = new RegExp(
  String.raw`^\W*(?:${PREFIX})?0*(\d{1,4})\s*(?:-|–|—|\.{2,3}|…|\bto\b|\bthrough\b)\s*(?:${PREFIX})?0*(\d{1,4})\W*$`,
  'iu',
);
const ALL = /^\W*(?:all|every|each|any|\*)(?:\s+(?:of\s+them|requirements?|reqs?))?\W*$/i;

/** No document has as many; a wider range is a slip of the pen. */
const WIDEST_RANGE = 200;

/**
 * The requirement numbers in a cell: `1`, `R1`, `REQ-01`, `#1`, `3.1` (the first of section 3), lists, ranges and `All`
 * (which means `known`). Numbers that belong to other words are none: `REQ-1: returns 43` names one requirement.
 */
export function requirementReferences(cell: string, known: number[]): number[] {
  const text = cell.replace(/`/g, '').replace(/\((?![^)]*\b(?:req|r)?-?\d+\s*\))[^)]*\)/gi, ' ');
  if (ALL.test(text)) return known;
  const parts = text.split(/[,;&/+\n]|\band\b/i);
  return [...new Set(parts.flatMap(numbersIn))];
}

function numbersIn(part: string): number[] {
  const range = RANGE.exec(part);
  if (range) {
    const from = Number(range[1]);
    const to = Number(range[2]);
    if (to > from && to - from < WIDEST_RANGE) return Array.from({ length: to - from + 1 }, (_, at) => from + at);
  }
  const prefixed = prefixedReferences(part);
  if (prefixed.length > 0) return prefixed;
  const ofSection = /^\W*(?:section\s+|§\s*)?3\.(\d{1,3})\W*$/i.exec(part);
  if (ofSection) return [Number(ofSection[1])];
  if (/^[\s\d#*[\]().]+$/.test(part)) return [...part.matchAll(/\d{1,4}/g)].map((match) => Number(match[0]));
  const leading = /^\W*0*(\d{1,4})(?![\p{L}\p{N}.%])/u.exec(part);
  return leading ? [Number(leading[1])] : [];
}

function prefixedReferences(part: string): number[] {
  return [...part.matchAll(PREFIXED)].map((match) => Number(match[1]));
}

/** References in running text, where only `REQ-1`, `Requirement 1` and a bracketed `(R1, R2)` are sure to be one. */
export function citedRequirements(text: string): number[] {
  const named = [...text.matchAll(/(?<![\w-])req(?:uirement)?s?[\s._#-]*0*(\d{1,4})(?!\d)/gi)].map((match) =>
    Number(match[1]),
  );
  const bracketed = [...text.matchAll(/[([]((?:\s*R-?\d{1,4}\s*[,;&/–-]?)+)[)\]]/g)].flatMap((match) =>
    requirementReferences(match[1] ?? '', []),
  );
  return [...new Set([...named, ...bracketed])];
}
