import type { Root } from 'mdast';

import type { Tier } from './reader.ts';
import { isNoFinding, saysSettled, verdictWord } from './words.ts';

/* A review in JSON is written as Markdown, and read like any other. */

/** Keys that are spelled alike mean the same: `blocking_issues`, `blockingIssues` and `Blocking Issues`. */
const keyOf = (name: string): string => name.toLowerCase().replace(/[^a-z0-9]/g, '');
type Fields = Record<string, unknown>;
const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const fieldsOf = (value: unknown): Fields =>
  isObject(value) ? Object.fromEntries(Object.entries(value).map(([name, field]) => [keyOf(name), field])) : {};

/** The text itself, or the first of these fields that holds one. */
function textOf(value: unknown, keys: string[] = []): string {
  if (typeof value === 'string' || typeof value === 'number') return String(value).trim();
  const fields = fieldsOf(value);
  return keys.map((key) => textOf(fields[key])).find((text) => text !== '') ?? '';
}

/** A JSON value in the text: the whole of it, its JSON code block, or what stands between sentences. */
export function findJson(text: string, root: Root): { value: object; source: string } | 'damaged' | null {
  const blocks = root.children.flatMap((node) =>
    node.type === 'code' && /^(?:json\w*|)$/i.test(node.lang ?? '') ? [node.value.trim()] : [],
  );
  const end = Math.max(text.lastIndexOf('}'), text.lastIndexOf(']')) + 1;
  const between = text.slice(Math.max(0, text.search(/[[{]\s*["{}\]]/)), end);
  const sources = [...blocks, between].filter((source) => /^[[{]/.test(source));
  for (const source of sources) {
    const value = parseJson(source);
    if (value) return { value, source };
  }
  return [...sources, text.trim()].some((source) => /^\{\s*"/.test(source)) ? 'damaged' : null;
}

/** An object, or the only one of an array; null for anything else. */
export function parseJson(source: string): object | null {
  let verdicts = 0;
  // `JSON.parse` silently keeps the last of two equal keys; two verdicts are two verdicts.
  const distinct = source.replace(/"verdict"(?=\s*:)/gi, (key) => (verdicts++ === 0 ? key : `"verdict ${verdicts}"`));
  try {
    const value: unknown = JSON.parse(distinct);
    const single: unknown = Array.isArray(value) && value.length === 1 ? value[0] : value;
    return isObject(single) ? single : null;
  } catch {
    return null;
  }
}

export function isErrorObject(value: object): boolean {
  const { type, error, errors } = fieldsOf(value);
  return type === 'error' || Boolean(error) || Boolean(errors);
}

const VERDICT_KEY = /^(?:\w*verdict\d*|(?:final|overall|review)?decision|status|result|outcome|recommendation)$/;
const APPROVED_KEY = /^(?:is)?approved$/;
/** Parts of a review that have a verdict of their own. */
const INNER_KEY = /^(?:(?:requirements?)?coverage|preflight|gate|previous|prior|last)/;
const VALUE_KEYS = ['verdict', 'status', 'decision', 'value', 'result', 'outcome'];

/** The verdict that a field states, as text, or null. */
function verdictIn(key: string, value: unknown): string | null {
  if (APPROVED_KEY.test(key) && typeof value === 'boolean') return value ? 'APPROVED' : 'REVISE';
  const text = VERDICT_KEY.test(key) && !INNER_KEY.test(key) ? textOf(value, VALUE_KEYS) : '';
  return text !== '' && (verdictWord(text) !== null || key === 'verdict') ? text : null;
}

/** What the object beside a verdict states, and what it calls blocking. */
export function jsonVerdicts(value: object): { stated: string[]; blocking: string[] } {
  const fields = fieldsOf(value);
  const blocking: unknown[] = Array.isArray(fields['blocking']) ? fields['blocking'] : [fields['blocking']];
  return {
    stated: Object.entries(fields).flatMap(([key, field]) => verdictIn(key, field) ?? []),
    blocking: blocking.map((entry) => textOf(entry, ['id', 'title', 'text'])).filter((text) => !isNoFinding(text)),
  };
}

/** The review in a JSON object as Markdown: a section for each field, the verdict last. Null without a verdict. */
export function markdownOf(value: object): string | null {
  const text = `# Review\n\n${bodyOf(value, 2)}`;
  return /^#{2,6} Verdict$/m.test(text) ? text : null;
}

function bodyOf(value: object, level: number): string {
  const fields = Object.entries(value);
  const isVerdict = ([key, field]: [string, unknown]): boolean => verdictIn(keyOf(key), field) !== null;
  return [
    ...fields.filter((field) => !isVerdict(field)).map(([key, field]) => sectionOf(key, field, level)),
    ...fields.filter(isVerdict).map(([key, field]) => verdictOf(keyOf(key), field, level)),
  ].join('');
}

function verdictOf(key: string, value: unknown, level: number): string {
  const rest = Object.entries(isObject(value) ? value : {}).filter(([name]) => !VALUE_KEYS.includes(keyOf(name)));
  return `${'#'.repeat(level)} Verdict\n\n${verdictIn(key, value)}\n\n${bodyOf(Object.fromEntries(rest), level + 1)}`;
}

function sectionOf(key: string, value: unknown, level: number): string {
  const title = key.replace(/[_-]+/g, ' ').replace(/(?<=[a-z])(?=[A-Z])/g, ' ');
  const heading = `${'#'.repeat(Math.min(level, 6))} ${title}\n\n`;
  if (value === false && /^(?:preflight|gate)/.test(keyOf(key))) return `${heading}FAILED\n\n`;
  if (Array.isArray(value)) {
    const isFinding = (entry: unknown): entry is object => isObject(entry) && !('question' in fieldsOf(entry));
    const entries: unknown[] = value;
    const points = entries
      .filter((entry) => !isFinding(entry))
      .map(pointOf)
      .join('');
    const own = entries.filter(isFinding).map((entry) => findingOf(entry, tierNamed(keyOf(key))));
    return [points && heading, points, ...own].join('');
  }
  const share = typeof value === 'number' && /coverage/i.test(key) ? `${value > 1 ? value : value * 100} %` : '';
  if (!isObject(value)) return textOf(value) && `${heading}${share || textOf(value)}\n\n`;
  const { covered, total } = fieldsOf(value);
  const counted = typeof covered === 'number' ? `${covered} requirements covered / ${textOf(total)} total\n\n` : '';
  return `${heading}${counted}${bodyOf(value, level + 1)}`;
}

function pointOf(value: unknown): string {
  const question = textOf(value, ['question', 'text']);
  const answer = textOf(fieldsOf(value), ['answer', 'resolution', 'decision']);
  const text = answer ? `[x] ~~${question}~~ **RESOLVED: ${answer}**` : question;
  return text && `- ${text.replace(/\n/g, '\n  ')}\n\n`;
}

const TIERS: [RegExp, Tier][] = [
  [/^(?:1|tier ?_?1|blocking|blocker|critical|mustfix|requiredchanges|p0|fatal|severe)/, 1],
  [/^(?:2|tier ?_?2|high|major|important|medium|moderate|p1|warning)/, 2],
  [/^(?:3|tier ?_?3|suggestion|minor|nonblocking|low|nicetohave|optional|info|nit|trivial|p[23])/, 3],
];
const RANK_KEYS = ['tier', 'severity', 'priority', 'level'];
const AREA_KEYS = ['area', 'category', 'section', 'type'];
const STATE_KEYS = ['status', 'state'];
const tierNamed = (name: string): Tier | null => TIERS.find(([pattern]) => pattern.test(name))?.[1] ?? null;

/** A section of its own: it names its tier and its area. All other texts are the finding's; an id is, if it is of the ledger. */
function findingOf(value: object, around: Tier | null): string {
  const fields = fieldsOf(value);
  if (saysSettled(textOf(fields, STATE_KEYS)) || fields['resolved'] === true) return '';
  const ranks = RANK_KEYS.map((key) => tierNamed(textOf(fields[key]).toLowerCase()));
  const area = textOf(fields, AREA_KEYS);
  const texts = Object.entries(fields).map(([key, field]) => {
    const isText = ![...RANK_KEYS, ...AREA_KEYS, ...STATE_KEYS].includes(key);
    return isText && (key !== 'id' || /^F\d+$/i.test(textOf(field))) ? textOf(field) : '';
  });
  const text = texts.filter(Boolean).join(': ');
  const tier = ranks.find((found) => found !== null) ?? around ?? 2;
  return text && `## Tier ${tier}\n\n${area && `### ${area}\n\n`}- ${text.replace(/\n/g, '\n  ')}\n\n`;
}
