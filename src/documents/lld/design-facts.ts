import { dependenciesOf } from './dependencies.ts';
import { readLld } from './document.ts';

/** What scheduling needs to know of a design. */
export interface DesignFacts {
  title: string;
  /** Files that it adds, changes or deletes. */
  files: string[];
  /** Items that it builds on. */
  after: string[];
}

export function designFacts(text: string): DesignFacts {
  const lld = readLld(text);
  const named = lld.frontMatter['title'];
  return {
    title: typeof named === 'string' ? named : lld.title,
    files: [...new Set(lld.files.map(({ path }) => path))],
    after: dependenciesOf(lld),
  };
}
