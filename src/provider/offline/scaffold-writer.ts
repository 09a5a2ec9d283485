import { quotedBlock } from './inline.ts';

/** A place that holds words of the issue: `title`, `objective`, `requirement 3`, `scenario 3`, `question 1`, `file src/tea.js`. */
export type Place = string;

export interface Scaffold {
  text: string;
  /** Which line, counted from 1, holds which words of the issue. */
  places: Map<number, Place>;
}

/**
 * Writes the document line by line and remembers where words of the issue stand. Words that are `withheld` from their
 * place go into a quotation, and the place refers to it: a mechanical check would take them for the design's own.
 */
export interface ScaffoldWriter {
  add: (...lines: string[]) => void;
  /** One line with words of the issue, or the line that stands in for them. */
  place: (name: Place, line: string, instead: string) => void;
  isWithheld: (name: Place) => boolean;
  /** Words that go into the quotation if they are withheld from their place. */
  quote: (name: Place, words: string) => void;
  /** The quotation will stand here, if there is any. */
  quotationHere: () => void;
  finish: () => Scaffold;
}

export function createScaffoldWriter(withheld: ReadonlySet<Place>, whose = 'Issue'): ScaffoldWriter {
  const lines: string[] = [];
  const places = new Map<number, Place>();
  const quotations: string[] = [];
  let quotationAt = 0;
  const isWithheld = (name: Place): boolean => withheld.has(name);
  return {
    add: (...more) => void lines.push(...more),
    place(name, line, instead) {
      lines.push(isWithheld(name) ? instead : line);
      places.set(lines.length, name);
    },
    isWithheld,
    quote: (name, words) => void (isWithheld(name) && quotations.push(`${name}: ${words}`)),
    quotationHere: () => {
      quotationAt = lines.length;
    },
    finish() {
      if (quotations.length === 0) return { text: lines.join('\n'), places };
      const quotation = ['', `### In the ${whose}'s Words`, ...quotedBlock(quotations)];
      const shifted = [...places].map(([line, name]): [number, Place] => [
        line > quotationAt ? line + quotation.length : line,
        name,
      ]);
      return { text: lines.toSpliced(quotationAt, 0, ...quotation).join('\n'), places: new Map(shifted) };
    },
  };
}
