import type { DocumentForm } from '../document-form.ts';
import { LLD_FORM } from './form.ts';
import { wordStem } from './section-titles.ts';
import { contentWords, sharedWords } from './word-overlap.ts';

/** What a section can be named by: its own number, else that of the section around it, and its title. */
export interface NamedPart {
  number: string | null;
  key: string;
}

const NUMBER_LIST =
  /(?:\bsect(?:ion|ions|\.)|\bsecs?\.|§+)\s*((?:\d{1,2}(?:\.\d{1,2})*)(?:(?:\s*(?:,|&|\/|and|or|to|[-–])\s*)+(?:§|sections?\s+)?\d{1,2}(?:\.\d{1,2})*)*)/gi;
const BARE_NUMBER =
  /(?<![\w.$€£<>=≥≤~^@-])(?<!\b(?:version|python|node|java|go|ruby|rust|tls|http|gemini|gpt|claude)\s)(\d{1,2}(?:\.\d{1,2})+)(?![\w%]|\.\d|\s*(?:%|x\b|k?b\b|[kmg]i?b\b|m?s\b|sec|min|hours?|times|usd|dollars|€))/gi;

/** Whether one of the findings speaks of this section. `all` are the sections of the same draft. */
export function isNamed(part: NamedPart, all: NamedPart[], findings: string[], form: DocumentForm = LLD_FORM): boolean {
  const around = parentOf(part, all);
  return findings.some(
    (finding) =>
      namedByNumber(part, all, finding) || namedByTitle(part, finding, form) || namedByTitle(around, finding, form),
  );
}

function namedByNumber(part: NamedPart, all: NamedPart[], finding: string): boolean {
  const own = part.number;
  if (own === null) return false;
  const listed = [...finding.matchAll(NUMBER_LIST)].flatMap((match) => match[1]?.match(/\d{1,2}(?:\.\d{1,2})*/g) ?? []);
  // "Section 7.2" of a draft with one section 7 means that one; a bare number that is no section's means something else.
  const sections = listed.flatMap((number) => nearestExisting(number, all) ?? []);
  const bare = [...finding.matchAll(BARE_NUMBER)].flatMap((match) => match[1] ?? []);
  return [...sections, ...bare].some((number) => own === number || own.startsWith(`${number}.`));
}

function nearestExisting(number: string, all: NamedPart[]): string | null {
  for (let candidate = number; candidate !== ''; candidate = candidate.split('.').slice(0, -1).join('.')) {
    if (all.some((part) => part.number === candidate)) return candidate;
  }
  return null;
}

function namedByTitle(part: NamedPart | undefined, finding: string, form: DocumentForm): boolean {
  if (!part || part.key === '') return false;
  const words = ` ${(finding.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [])
    .map(wordStem)
    .filter((word) => word !== 'and' && word !== 'of' && word !== 'the')
    .join(' ')} `;
  if (words.includes(` ${part.key} `)) return true;
  const title = contentWords(part.key);
  if (title.size > 1 && sharedWords(title, contentWords(finding)) === title.size) return true;
  return form.aliases.get(part.key)?.test(finding) ?? false;
}

/** A subsection is named with the section around it, but `2.5` of `Proposed Changes` not by what names section 2.4. */
function parentOf(part: NamedPart, all: NamedPart[]): NamedPart | undefined {
  const parent = part.number?.split('.').slice(0, -1).join('.');
  return parent ? all.find((other) => other.number === parent) : undefined;
}

/** Whether a finding cites something that stands in this text: an identifier of it, or most of its words. */
export function isTouched(text: string, findings: string[]): boolean {
  const words = contentWords(text);
  return findings.some((finding) => {
    const cited = [...finding.matchAll(/`([^`\n]{3,})`/g)].flatMap((match) => match[1] ?? []);
    if (cited.some((identifier) => text.includes(identifier))) return true;
    return sharedWords(words, contentWords(finding)) >= Math.max(2, words.size * 0.4);
  });
}
