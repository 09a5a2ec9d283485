import { readTitle } from '../../markdown/words.ts';
import { ISSUE_SECTIONS } from '../issue.ts';
import { LLD_SECTIONS } from '../lld/document.ts';

/** How a kind of document is recognised in a reply, and what a revision of it may not lose. */
export interface DocumentForm {
  /** With its article, for messages: `an LLD`. */
  name: string;
  /** The section that the document begins with, below its title. */
  firstKey: string;
  /** Its sections; none of them may be dropped. Keys are those of `readTitle`. */
  keys: ReadonlySet<string>;
  /** Sections in which every list item or table row counts: a missing one is a loss. */
  entryKeys: ReadonlySet<string>;
  /** The highest section number. A heading with a higher one is an addition to the document. */
  lastNumber: number;
  /** What may be written in its place, recognised by its title. */
  instead?: DocumentForm;
  isTitle: (heading: { level: number; text: string }) => boolean;
}

const keyOf = (title: string): string => readTitle(title).key;

const FEATURE_TITLE = /^\W*(?:issue\s+)?#?[\w-]+\]?\s*[-–—:]+\s*feature\b/i;
const LLD_TITLE = new RegExp(`${FEATURE_TITLE.source}|^\\W*(?:LLD|low[- ]level design)\\b(?!\\s+review)`, 'i');

/** A drafter's claim that the issue is done at the base commit, with evidence. */
const ALREADY_DONE_FORM: DocumentForm = {
  name: 'a claim that the issue is already done',
  firstKey: keyOf('Evidence'),
  keys: new Set(['Evidence', 'Why'].map(keyOf)),
  entryKeys: new Set(),
  lastNumber: 0,
  isTitle: ({ level, text }) => level <= 2 && /^\W*already done\b/i.test(text),
};

export const LLD_FORM: DocumentForm = {
  name: 'an LLD',
  firstKey: keyOf('Context & Goal'),
  keys: new Set([...LLD_SECTIONS.map(({ title }) => title), 'Open Questions'].map(keyOf)),
  entryKeys: new Set(['Requirements', 'Verification & Testing'].map(keyOf)),
  lastNumber: 12,
  instead: ALREADY_DONE_FORM,
  isTitle: ({ level, text }) => (level === 1 && LLD_TITLE.test(text)) || (level === 2 && FEATURE_TITLE.test(text)),
};

/** Any heading may be the title of an issue, so only its place above the sections counts. */
export const ISSUE_FORM: DocumentForm = {
  name: 'an issue',
  firstKey: keyOf('User Story'),
  keys: new Set(ISSUE_SECTIONS.map(({ title }) => keyOf(title))),
  entryKeys: new Set(['Scenarios of Use', 'Requirements', 'Acceptance Criteria'].map(keyOf)),
  lastNumber: 8,
  isTitle: () => false,
};
