import { normaliseText } from '../../markdown/markdown.ts';
import { headline } from '../finding.ts';
import { type Outcome, withoutThinking } from './reply.ts';

/**
 * One change to a draft. The revision prompt asks for this form, any number of times, with any prose around it:
 *
 *     <<<<<<< SEARCH
 *     exact lines of the draft
 *     =======
 *     the lines that replace them
 *     >>>>>>> REPLACE
 *
 * There is no other form for whole sections: quoting the section does the same and shows which text is replaced.
 */
export interface Edit {
  search: string;
  replace: string;
  /** Set for an incomplete block. The whole reply is refused then, because more may be missing. */
  problem?: string;
}

const START = /^\s*<{5,9}\s*(?:search|original|old|before|draft|current|find|head)?\s*:?\s*$/i;
const DIVIDER = /^\s*={5,9}\s*$/;
const END = /^\s*>{5,9}\s*(?:replace(?:ment|d)?|updated?|new|after|revised|modified|changed?|end)?\s*:?\s*$/i;

/** The edit blocks of a reply; null if it has none and should be read as a whole document. */
export function readEdits(reply: string): Edit[] | null {
  const lines = withoutThinking(normaliseText(reply)).split('\n');
  const edits: Edit[] = [];
  for (let at = 0; at < lines.length; at++) {
    const start = START.exec(lines[at] ?? '');
    if (!start) continue;
    const end = lines.findIndex((line, index) => index > at && (END.test(line) || START.test(line)));
    const block = lines.slice(at + 1, end === -1 ? lines.length : end);
    const divider = block.findIndex((line) => DIVIDER.test(line));
    if (end === -1 || divider === -1 || !END.test(lines[end] ?? '')) {
      // A lone line of angle brackets is an edit block only with a label or a divider below it.
      if (divider !== -1 || /\w/.test(start[0])) {
        edits.push({ search: block.join('\n'), replace: '', problem: 'the edit block is not complete' });
      }
      continue;
    }
    const [search, replace] = [block.slice(0, divider).join('\n'), block.slice(divider + 1).join('\n')];
    // Some models show the same edit twice, once while explaining it.
    if (!edits.some((edit) => edit.search === search && edit.replace === replace)) edits.push({ search, replace });
    at = end;
  }
  return edits.length === 0 ? null : edits;
}

/** Applies all edits in order, or none. */
export function applyEdits(draft: string, edits: Edit[]): Outcome {
  let text = draft;
  for (const [index, edit] of edits.entries()) {
    const applied = applyEdit(text, edit);
    if (!applied.ok) return { ok: false, reason: `edit ${index + 1} of ${edits.length}: ${applied.reason}` };
    text = applied.text;
  }
  return { ok: true, text };
}

function applyEdit(text: string, edit: Edit): Outcome {
  const quoted = `"${headline(edit.search)}"`;
  if (edit.problem !== undefined) return { ok: false, reason: `${edit.problem}: ${quoted}` };
  if (edit.search.trim() === '') {
    return { ok: false, reason: 'the search text is empty; quote the lines of the draft that stand next to the place' };
  }
  const lines = text.split('\n');
  const search = edit.search.split('\n');
  const replace = edit.replace === '' ? [] : edit.replace.split('\n');
  const whole = [...lines.keys()].filter((at) => search.every((line, offset) => lines[at + offset] === line));
  if (whole.length > 1) return ambiguous(quoted, whole.length);
  if (whole[0] !== undefined)
    return { ok: true, text: lines.toSpliced(whole[0], search.length, ...replace).join('\n') };

  const parts = text.split(edit.search);
  if (parts.length > 2) return ambiguous(quoted, parts.length - 1);
  if (parts.length === 2) return { ok: true, text: parts.join(edit.replace) };

  const [match, ...others] = looseLines(lines, search);
  if (others.length > 0) return ambiguous(quoted, others.length + 1);
  if (!match) return { ok: false, reason: `the draft has no such text: ${quoted}` };
  // The draft keeps its own blank lines around the place, and its indentation.
  const indent = /^\s*/.exec(lines[match.first] ?? '')?.[0] ?? '';
  const written = edit.replace.replace(/^(?:[ \t]*\n)+|\s+$/g, '').split('\n');
  const placed = written.join('') === '' ? [] : written.map((line) => (/^\s|^$/.test(line) ? line : indent + line));
  return { ok: true, text: lines.toSpliced(match.first, match.last - match.first + 1, ...placed).join('\n') };
}

function ambiguous(quoted: string, count: number): Outcome {
  return { ok: false, reason: `the draft has this text ${count} times; quote more lines around it: ${quoted}` };
}

/** Places where the lines differ only in white space and blank lines. */
function looseLines(lines: string[], search: string[]): { first: number; last: number }[] {
  const bare = (line: string, index: number) => ({ form: line.replace(/\s+/g, ''), index });
  const wanted = search.map(bare).filter(({ form }) => form !== '');
  const present = lines.map(bare).filter(({ form }) => form !== '');
  return present.flatMap(({ index }, at) => {
    if (!wanted.every(({ form }, offset) => present[at + offset]?.form === form)) return [];
    return [{ first: index, last: present[at + wanted.length - 1]?.index ?? index }];
  });
}
