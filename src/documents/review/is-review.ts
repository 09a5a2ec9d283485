import { normaliseText } from '../markdown.ts';
import { startsWithError } from './banner.ts';
import { parseFenced } from './fences.ts';
import { findJson, readJsonReview } from './json-review.ts';
import { repairMojibake } from './mojibake.ts';
import { hasReviewSections, outlineOf, type Part } from './outline.ts';
import { readVerdict } from './verdict.ts';

const LLD_SECTION =
  /^(?:context (?:&|and) goal|proposed changes|requirements|alternatives considered|data & fixtures|diagram|security & safety considerations|performance & cost considerations|legal & compliance|verification & testing|risks & mitigations|definition of done)$/i;

/** Whether a text is a review, a damaged one included. An LLD, any other document, an error or an empty file is none. */
export function isReview(source: string): boolean {
  const { text } = repairMojibake(normaliseText(source));
  if (text.trim() === '') return false;
  const document = parseFenced(text);
  const { root, text: readable } = document.recovered ?? document;
  const parts = outlineOf(root, readable);
  const isTitled = parts.some(({ kind }) => kind === 'title');
  if (!isTitled && parts.filter(isLldSection).length >= 3) return false;

  const reading = readVerdict(parts);
  const saysVerdict = reading.verdicts.size > 0 || reading.untickedOnly || reading.conditional;
  if (saysVerdict) return hasReviewSections(parts) || !startsWithError(text);
  const telling = new Set(parts.filter(isTelling).map(({ kind, tier }) => `${kind} ${tier}`));
  if (telling.size > 1 || (telling.size === 1 && (isTitled || telling.has('pre-flight 0')))) return true;
  if (isTitled && parts.some(({ kind }) => kind === 'verdict' || kind === 'summary' || kind === 'coverage'))
    return true;

  const json = findJson(document.text, document.root);
  if (json === 'damaged') return /"(?:verdict|decision)"\s*:/.test(document.text);
  return json !== null && readJsonReview(json.value, json.source) !== null;
}

function isLldSection({ title }: Part): boolean {
  return LLD_SECTION.test(title.replace(/^[\d.\s]+/, '').trim());
}

/** Headings that hardly any other document has. */
function isTelling({ kind, tier, title }: Part): boolean {
  return kind === 'identity' || kind === 'pre-flight' || (kind === 'tier' && /\btier\b/i.test(title) && tier > 0);
}
