import { singular } from './words.ts';

const NUMBER = /^(?:section\s+|§+\s*)?(\d{1,2}(?:\.\d{1,2})*)(?:[.):]+|\s+|$)\s*[-–—:]?\s*/i;
const APPENDIX = /^appendix(?:\s+[a-z0-9]{1,2}(?=\s*[-–—:.]))?\s*[-–—:.]*\s+(?=\S)/i;
const FILLER = new Set(['and', 'the', 'of', 'a', 'an', 'consideration']);

export interface TitleParts {
  /** `2.4` of `2.4 Function Signatures`, null when the title has no number. */
  number: string | null;
  /** What two spellings of the same title have in common: no number, no case, no markup, `&` or `and`, plural or not. */
  key: string;
}

export function readTitle(title: string): TitleParts {
  const bare = title
    .replace(/[*_`~]/g, '')
    .replace(/^[^\p{L}\p{N}§]+/u, '')
    .trim();
  const number = NUMBER.exec(bare);
  const name = (number ? bare.slice(number[0].length) : bare).replace(APPENDIX, '').replace(/\([^)]*\)/g, ' ');
  const words = name.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  const key = words
    .map(singular)
    .filter((word) => !FILLER.has(word))
    .join(' ');
  return { number: number?.[1] ?? null, key };
}

export const REVIEW_LOG_KEY = readTitle('Review Log').key;
export const OPEN_QUESTIONS_KEY = readTitle('Open Questions').key;
