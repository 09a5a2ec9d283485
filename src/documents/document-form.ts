import { readTitle } from './lld/section-titles.ts';

/** How a kind of document is recognised in a reply, and what of it a revision may not lose. */
export interface DocumentForm {
  /** With its article, for messages: `an LLD`. */
  name: string;
  /** The section that the document begins with, below its title. */
  firstKey: string;
  /** Its sections; none of them may be dropped. Keys are those of `readTitle`. */
  keys: ReadonlySet<string>;
  /** Sections whose list items or table rows are each agreed text: one missing is a loss however long the section is. */
  entryKeys: ReadonlySet<string>;
  /** How reviewers speak of a section without giving its number or title. */
  aliases: ReadonlyMap<string, RegExp>;
  /**
   * The highest number that one of its sections has: a heading with a higher one is an addition, and belongs to it too.
   * Infinity where sections have no numbers.
   */
  lastNumber: number;
  isTitle: (heading: { level: number; text: string }) => boolean;
}

/** The same with the titles as the template writes them. The first of `sections` is the one it begins with. */
export interface DocumentDescription extends Pick<DocumentForm, 'name' | 'lastNumber' | 'isTitle'> {
  sections: readonly [string, ...string[]];
  entrySections: readonly string[];
  aliases: readonly (readonly [title: string, words: RegExp])[];
}

export function documentForm(description: DocumentDescription): DocumentForm {
  const { name, sections, entrySections, aliases, lastNumber, isTitle } = description;
  const keyOf = (title: string): string => readTitle(title).key;
  return {
    name,
    firstKey: keyOf(sections[0]),
    keys: new Set(sections.map(keyOf)),
    entryKeys: new Set(entrySections.map(keyOf)),
    aliases: new Map(aliases.map(([title, words]) => [keyOf(title), words])),
    lastNumber,
    isTitle,
  };
}
