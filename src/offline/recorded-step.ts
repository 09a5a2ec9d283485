import type { Code } from 'mdast';
import { type Edit, readEdits } from '../documents/lld/edits.ts';
import { normaliseText, parseMarkdown, plainText, sectionsOf } from '../documents/markdown.ts';

/** A file that is new, or edits to one that is there. Edits fit a file that others have changed elsewhere, too. */
export type RecordedFile = { path: string; content: string } | { path: string; edits: Edit[] };

/** What was written in one step, and the words that went with it. */
export interface RecordedStep {
  words: string;
  files: RecordedFile[];
}

/**
 * A recording is Markdown: under the title a few words, then a heading for each file, with its path, over one block of
 * code that holds the whole file or edit blocks.
 */
export function readRecordedStep(markdown: string): RecordedStep {
  const [title] = sectionsOf(parseMarkdown(normaliseText(markdown)));
  const files = (title?.subsections ?? []).flatMap((section): RecordedFile[] => {
    const block = section.own.find((node): node is Code => node.type === 'code');
    if (!block) return [];
    const edits = readEdits(block.value);
    return [edits ? { path: section.title, edits } : { path: section.title, content: `${block.value}\n` }];
  });
  return { words: (title?.own ?? []).map(plainText).join('\n'), files };
}
