import type { Root } from 'mdast';
import { isNoFinding, saysSettled } from './no-finding.ts';
import type { Tier } from './review.ts';
import { verdictWord } from './verdict-word.ts';

/* A review in JSON is written as Markdown, and read like any other. */

/** Keys that are spelled alike mean the same: `blocking_issues`, `blockingIssues` and `Blocking Issues`. */
const keyOf = (name: string): string => name.toLowerCase().replace(/[^a-z0-9]/g, '');
type Fields = Record<string, unknown>;
const fieldsOf = (value: unknown): Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).map(([name, field]) => [keyOf(name), field]))
    : {};

const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : typeof value === 'string' ? [value] : []);

/** The text itself, or the first of these fields that holds one. */
function textOf(value: unknown, keys: string[] = []): string {
  if (typeof value === 'string' || typeof value === 'number') return String(value).trim();
  const fields = fieldsOf(value);
  return keys.map((key) => textOf(fields[key])).find((text) => text !== '') ?? '';
}

const VERDICT_KEY = /^(?:\w*verdict|(?:final|overall|review)?decision|status|result|outcome|recommendation)$/;
/** The verdicts of a part of the review. */
const INNER_VERDICT = /^(?:(?:requirements?)?coverage|preflight|gate|previous|prior|last)/;
const WRAPPERS = ['review', 'response', 'data', 'output', 'lldreview', 'reviewresult'];

/** A JSON value in the text: the whole of it, its only JSON code block, or what stands after a sentence. */
export function findJson(text: string, root: Root): { value: object; source: string } | 'damaged' | null {
  const trimmed = text.trim();
  const blocks = root.children.flatMap((node) =>
    node.type === 'code' && /^(?:json\w*|)$/i.test(node.lang ?? '') ? [node.value.trim()] : [],
  );
  const start = trimmed.search(/[[{]\s*["{}\]]/);
  const end = Math.max(trimmed.lastIndexOf('}'), trimmed.lastIndexOf(']'));
  const sources = /^[[{]/.test(trimmed)
    ? [trimmed, trimmed.slice(0, end + 1)]
    : blocks.filter((block) => /^[[{]/.test(block));
  if (sources.length === 0 && start >= 0 && end > start) sources.push(trimmed.slice(start, end + 1));
  for (const source of sources) {
    const value = parseLenientJson(source);
    if (value) return { value, source };
  }
  return [...sources, trimmed].some((source) => /^\{\s*"/.test(source)) ? 'damaged' : null;
}

/** An object, or the only one of an array; null for anything else. Comments and a comma too many are harmless. */
export function parseLenientJson(source: string): object | null {
  const keepStrings = (found: string): string => (found.startsWith('"') ? found : '');
  const tidy = source
    .replace(/"(?:[^"\\]|\\.)*"|\/\/[^\n]*|\/\*[\s\S]*?\*\//g, keepStrings)
    .replace(/"(?:[^"\\]|\\.)*"|,(?=\s*[}\]])/g, keepStrings);
  try {
    const value: unknown = JSON.parse(tidy);
    const single: unknown = Array.isArray(value) && value.length === 1 ? value[0] : value;
    return typeof single === 'object' && single !== null && !Array.isArray(single) ? single : null;
  } catch {
    return null;
  }
}

export function isErrorObject(value: object): boolean {
  const { type, error, errors } = fieldsOf(value);
  return type === 'error' || Boolean(error) || Boolean(errors);
}

/** What an object states as its verdict, each statement once, and what it calls blocking. */
export function jsonVerdicts(value: object, source: string): { stated: string[]; blocking: string[] } {
  const fields = innerFields(value);
  const values = Object.entries(fields)
    .filter(([key]) => VERDICT_KEY.test(key) && !INNER_VERDICT.test(key))
    .map(([, field]) => textOf(field, ['verdict', 'status', 'decision', 'value', 'result', 'outcome']));
  // `JSON.parse` keeps the last of two equal keys in silence; two verdicts are two verdicts.
  const repeated = [...source.matchAll(/"verdict"\s*:\s*"((?:[^"\\]|\\.)*)"/gi)].map(([, said = '']) => said);
  for (const [key, field] of Object.entries(fields)) {
    const at = INNER_VERDICT.test(key) ? repeated.indexOf(textOf(fieldsOf(field)['verdict'])) : -1;
    if (at >= 0) repeated.splice(at, 1);
  }
  const approved = fields['approved'] ?? fields['isapproved'];
  const stated = [...values, ...repeated].filter((said) => verdictWord(said) !== null);
  if (typeof approved === 'boolean') stated.push(approved ? 'APPROVED' : 'REVISE');
  return {
    stated: [...new Set(stated)],
    blocking: listOf(fields['blocking'])
      .map((entry) => textOf(entry, ['id', 'title', 'text']))
      .filter((entry) => !isNoFinding(entry)),
  };
}

function innerFields(value: object): Fields {
  const outer = fieldsOf(value);
  const wrapper = WRAPPERS.find((key) => Object.keys(fieldsOf(outer[key])).length > 0);
  return wrapper !== undefined && !('verdict' in outer) ? fieldsOf(outer[wrapper]) : outer;
}

/** The review in a JSON object as Markdown, or null when it holds no verdict under any key that means one. */
export function markdownOf(value: object, source: string): string | null {
  const fields = innerFields(value);
  const first = (keys: string[]): unknown => keys.map((key) => fields[key]).find((field) => field !== undefined);
  const all = (...keys: string[]): unknown[] => keys.flatMap((key) => listOf(fields[key]));
  const { stated } = jsonVerdicts(value, source);
  const said = first(['preflight', 'preflightgate', 'preflightstatus', 'gate']);
  const passed = typeof said === 'boolean' ? said : fieldsOf(said)['passed'];
  const gate =
    typeof passed === 'boolean' ? (passed ? 'PASSED' : 'FAILED') : textOf(said, ['status', 'result', 'verdict']);
  const decides = stated.length > 0 || 'verdict' in fields;
  if (!decides && !/^\W*(?:fail|not passed)/i.test(gate)) return null;
  const reasons = decides ? [] : all('reasons', 'reason', 'missing', 'details', 'message', 'rationale');
  const coverage = first(['coverage', 'requirementcoverage', 'coverageanalysis']);
  const covered = textOf(fields['coverageverdict']) || textOf(fieldsOf(coverage)['verdict']);
  const [done, total] = [fieldsOf(coverage)['covered'], fieldsOf(coverage)['total']];
  const answers = all('openquestionsresolved', 'resolvedquestions', 'openquestions').map((entry) => {
    const [question, answer] = [
      ['question', 'text'],
      ['answer', 'resolution', 'decision'],
    ].map((keys) => textOf(fieldsOf(entry), keys));
    return question && answer ? `- [x] ~~${question}~~ **RESOLVED: ${answer}**` : '';
  });
  const asked = all('questionsfororchestrator', 'orchestratorquestions', 'questions');
  return [
    `# Review\n\n`,
    section('Pre-Flight Gate', gate, ...reasons.map((reason) => point(textOf(reason, ['text', 'message'])))),
    section('Review Summary', textOf(first(['summary', 'reviewsummary', 'rationale']))),
    section('Open Questions Resolved', ...answers),
    section(
      'Requirement Coverage',
      typeof done === 'number' ? `${done} requirements covered / ${textOf(total)} total` : '',
      textOf(coverage) && `Coverage: ${textOf(coverage)}`,
      covered && `**Verdict:** ${covered}`,
    ),
    ...Object.entries(fields).flatMap(([key, entry]) => {
      const tier = tierNamed(key);
      return tier !== null || LIST_KEYS.test(key) ? findingsIn(entry, tier, '') : [];
    }),
    section('Questions for Orchestrator', ...asked.map((entry) => point(textOf(entry, ['question', 'text'])))),
    section('Verdict', decides ? stated.join('\n\n') || textOf(fields['verdict']) : ''),
  ].join('');
}

function section(title: string, ...blocks: string[]): string {
  const said = blocks.filter((block) => block !== '');
  return said.length === 0 ? '' : `## ${title}\n\n${said.join('\n\n')}\n\n`;
}

function point(text: string): string {
  return text && `- ${text.replace(/\n/g, '\n  ')}`;
}

const TIERS: [RegExp, Tier][] = [
  [/^(?:1|tier ?_?1|blocking|blocker|critical|mustfix|requiredchanges|conditions|p0|fatal|severe)/, 1],
  [/^(?:2|tier ?_?2|high|major|important|medium|moderate|p1|warning)/, 2],
  [/^(?:3|tier ?_?3|suggestion|minor|nonblocking|low|nicetohave|optional|info|nit|trivial|p[23])/, 3],
];
const LIST_KEYS = /^(?:findings|issues|issuesfound|feedback|comments|problems|concerns|tiers|actionitems)$/;
const BODY = ['text', 'description', 'message', 'issue', 'finding', 'problem', 'details', 'body', 'comment', 'summary'];
const ADVICE = ['recommendation', 'suggestion', 'fix', 'requiredfix', 'remediation', 'resolution', 'action'];
const tierNamed = (name: string): Tier | null => TIERS.find(([pattern]) => pattern.test(name))?.[1] ?? null;

/** Findings nested by tier or by area, as strings or as objects; a section for each. */
function findingsIn(value: unknown, tier: Tier | null, area: string): string[] {
  if (Array.isArray(value)) return value.flatMap((entry) => findingsIn(entry, tier, area));
  const inner = fieldsOf(value);
  const [title, body, advice] = [['title', 'name', 'heading'], BODY, ADVICE].map((keys) => textOf(inner, keys));
  if (!title && !body && !advice && typeof value === 'object') {
    return Object.entries(value ?? {}).flatMap(([name, entry]) => {
      const own = tierNamed(keyOf(name));
      return findingsIn(entry, own ?? tier, own !== null || LIST_KEYS.test(keyOf(name)) ? area : name);
    });
  }
  const state = textOf(inner['status'] ?? inner['state']).toLowerCase();
  const id = /^F\d+$/i.test(textOf(inner['id'])) ? textOf(inner['id']) : '';
  if (saysSettled(state) || inner['resolved'] === true || inner['settled'] === true)
    return id === '' ? [] : [section('Status of Findings', `- ${id}: ${state || 'fixed'}`)];
  const said = [id, title, body].filter(Boolean).join(': ') || textOf(value);
  const severity = ['tier', 'severity', 'priority', 'level'].map((key) => tierNamed(textOf(inner[key]).toLowerCase()));
  const heading = textOf(inner, ['area', 'category', 'section', 'type']) || area;
  const text = advice && advice !== body ? `${said}\n\nRecommendation: ${advice}` : said;
  const own = severity.find((found) => found !== null) ?? tier ?? 2;
  return [section(`Tier ${own}`, heading && `### ${heading}`, point(text))];
}
