import type { Root } from 'mdast';
import { knownArea } from './headings.ts';
import { isNoFinding, saysSettled } from './no-finding.ts';
import {
  type Coverage,
  type Finding,
  isGuardFinding,
  percentOf,
  type Review,
  type Ruling,
  type Tier,
  type Verdict,
} from './review.ts';
import { offersChoice, verdictWord } from './verdict-word.ts';

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
const INNER_VERDICT = /^(?:coverage|preflight|gate|previous|prior|last)/;
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

/** The verdicts of an object, and the ids of the findings that it calls blocking. */
export function jsonVerdicts(value: object, source: string): { verdicts: Verdict[]; blocking: string[] } {
  const fields = innerFields(value);
  const values = Object.entries(fields)
    .filter(([key]) => VERDICT_KEY.test(key) && !INNER_VERDICT.test(key))
    .map(([, field]) => textOf(field, ['verdict', 'status', 'decision', 'value', 'result', 'outcome']));
  // `JSON.parse` keeps the last of two equal keys in silence; two verdicts are two verdicts.
  const repeated = [...source.matchAll(/"verdict"\s*:\s*"((?:[^"\\]|\\.)*)"/gi)].map(([, said = '']) => said);
  const words = [...values, ...repeated].map(verdictWord).filter((word) => word !== null && !offersChoice(word));
  const approved = fields['approved'] ?? fields['isapproved'];
  const verdicts = words.flatMap((word) => (word === null ? [] : [word.verdict]));
  if (typeof approved === 'boolean') verdicts.push(approved ? 'APPROVED' : 'REVISE');
  const blocking = listOf(fields['blocking']).filter((id) => typeof id === 'string' && /^F\d+$/i.test(id));
  return { verdicts: [...new Set(verdicts)], blocking: blocking.map(String) };
}

function innerFields(value: object): Fields {
  const outer = fieldsOf(value);
  const wrapper = WRAPPERS.find((key) => Object.keys(fieldsOf(outer[key])).length > 0);
  return wrapper !== undefined && !('verdict' in outer) ? fieldsOf(outer[wrapper]) : outer;
}

export type JsonReview = Omit<Review, 'verdict' | 'problems'> & { verdicts: Verdict[]; words: string };

/** The review in a JSON object, or null when it holds no verdict under any key that means one. */
export function readJsonReview(value: object, source: string): JsonReview | null {
  const fields = innerFields(value);
  const { verdicts } = jsonVerdicts(value, source);
  const gate = preFlight(fields);
  const { findings, rulings } = findingsIn(fields);
  if (verdicts.length === 0 && !('verdict' in fields)) {
    if (gate !== 'FAILED') return null;
    verdicts.push('REVISE');
    const reasons = ['reasons', 'reason', 'missing', 'details', 'message', 'rationale', 'summary'].flatMap((key) =>
      listOf(fields[key]).map((reason) => textOf(reason, ['text', 'message', 'reason'])),
    );
    if (findings.length === 0)
      findings.push({
        tier: 1,
        area: 'Pre-Flight',
        text: reasons.filter(Boolean).join('\n') || 'The Pre-Flight gate failed.',
      });
  }
  const questions = ['questionsfororchestrator', 'orchestratorquestions', 'questions'].flatMap((key) =>
    listOf(fields[key]),
  );
  const resolved = ['openquestionsresolved', 'resolvedquestions', 'resolvedopenquestions', 'openquestions'].flatMap(
    (key) => listOf(fields[key]),
  );
  return {
    verdicts,
    // The verdict with what is said behind it, for the reader of approvals.
    words: textOf(fields['verdict'] ?? fields['decision'] ?? ''),
    findings,
    rulings,
    openQuestions: resolved
      .map((entry) => ({
        question: textOf(fieldsOf(entry)['question'] ?? fieldsOf(entry)['text']),
        answer: textOf(fieldsOf(entry)['answer'] ?? fieldsOf(entry)['resolution'] ?? fieldsOf(entry)['decision']),
      }))
      .filter(({ question, answer }) => question !== '' && answer !== ''),
    questionsForOrchestrator: questions
      .map((question) => textOf(question, ['question', 'text']))
      .filter((question) => question !== '' && !isNoFinding(question)),
    coverage: coverageIn(fields['coverage'] ?? fields['requirementcoverage'] ?? fields['coverageanalysis']),
    preFlight: gate,
    title: textOf(fields['title']) || null,
    summary: textOf(fields['summary'] ?? fields['reviewsummary'] ?? fields['rationale']) || null,
  };
}

function coverageIn(said: unknown): Coverage | null {
  const [, covered, total] = typeof said === 'string' ? (/(\d+)\s*(?:\/|of)\s*(\d+)/.exec(said) ?? []) : [];
  const inner = fieldsOf(said);
  const done = Number(inner['covered'] ?? inner['requirementscovered'] ?? covered);
  const all = Number(inner['total'] ?? inner['requirements'] ?? inner['totalrequirements'] ?? total);
  const percent = inner['percent'] ?? inner['percentage'];
  if (!(done >= 0) || !(all > 0)) return null;
  return { covered: done, total: all, percent: typeof percent === 'number' ? percent : percentOf(done, all) };
}

function preFlight(fields: Fields): Review['preFlight'] {
  const said = fields['preflight'] ?? fields['preflightgate'] ?? fields['preflightstatus'] ?? fields['gate'];
  const passed = typeof said === 'boolean' ? said : fieldsOf(said)['passed'];
  if (typeof passed === 'boolean') return passed ? 'PASSED' : 'FAILED';
  const status = textOf(said, ['status', 'result', 'verdict']);
  if (/^\W*(?:fail|not passed)/i.test(status)) return 'FAILED';
  return /^\W*pass/i.test(status) ? 'PASSED' : null;
}

const TIERS: [RegExp, Tier][] = [
  [/^(?:1|tier ?_?1|blocking|blocker|critical|mustfix|requiredchanges|p0|fatal|severe)/, 1],
  [/^(?:2|tier ?_?2|high|major|important|medium|moderate|p1|warning)/, 2],
  [/^(?:3|tier ?_?3|suggestion|minor|nonblocking|low|nicetohave|optional|info|nit|trivial|p[23])/, 3],
];
const LIST_KEYS =
  /^(?:findings|issues|issuesfound|feedbackitems|feedback|comments|problems|concerns|tiers|actionitems)$/;
const BODY = [
  'text',
  'description',
  'message',
  'issue',
  'finding',
  'problem',
  'detail',
  'details',
  'body',
  'comment',
  'feedback',
  'claim',
  'summary',
];
const ADVICE = ['recommendation', 'suggestion', 'fix', 'requiredfix', 'remediation', 'resolution', 'action'];
const tierNamed = (name: string): Tier | null => TIERS.find(([pattern]) => pattern.test(name))?.[1] ?? null;

/** Findings under any of the usual keys, nested by tier or by area, as strings or as objects. */
function findingsIn(fields: Fields): { findings: Finding[]; rulings: Ruling[] } {
  const findings: Finding[] = [];
  const rulings: Ruling[] = [];
  const visit = (value: unknown, tier: Tier | null, area: string): void => {
    if (typeof value === 'string') add(value.trim(), tier, area);
    else if (Array.isArray(value)) for (const entry of value) visit(entry, tier, area);
    else if (typeof value === 'object' && value !== null) visitObject(value, tier, area);
  };
  const add = (text: string, tier: Tier | null, area: string): void => {
    const isOfGuard = isGuardFinding({ area, text });
    if (text === '' || (!isOfGuard && (isNoFinding(text) || saysSettled(text)))) return;
    const known: Tier = isOfGuard ? 3 : (tier ?? 2);
    findings.push({ tier: known, area: area === '' && known === 3 ? 'Suggestions' : area, text });
  };
  const visitObject = (value: object, tier: Tier | null, area: string): void => {
    const inner = fieldsOf(value);
    const [title, body, advice] = [['title', 'name', 'heading'], BODY, ADVICE].map((keys) => textOf(value, keys));
    if (!title && !body && !advice) {
      for (const [name, entry] of Object.entries(value)) {
        const key = keyOf(name);
        const own = tierNamed(key);
        visit(entry, own ?? tier, own !== null || LIST_KEYS.test(key) ? area : areaOf(name));
      }
      return;
    }
    const state = textOf(inner['status'] ?? inner['state']).toLowerCase();
    const isSettled = saysSettled(state) || inner['resolved'] === true || inner['settled'] === true;
    const id = /^F\d+$/i.test(textOf(inner['id'])) ? textOf(inner['id']).toUpperCase() : '';
    if (id !== '' && (isSettled || state === 'open'))
      rulings.push({ id, state: isSettled ? (state === 'withdrawn' ? 'withdrawn' : 'fixed') : 'open' });
    if (isSettled) return;
    const said = [id, title, body].filter(Boolean).join(': ');
    const severity = ['tier', 'severity', 'priority', 'level'].map((key) =>
      tierNamed(textOf(inner[key]).toLowerCase()),
    );
    add(
      [said, advice && advice !== body ? `Recommendation: ${advice}` : ''].filter(Boolean).join('\n'),
      severity.find((own) => own !== null) ?? tier,
      areaOf(textOf(value, ['area', 'category', 'section', 'type'])) || area,
    );
  };
  for (const [key, value] of Object.entries(fields)) {
    const tier = tierNamed(key);
    if (tier !== null || LIST_KEYS.test(key)) visit(value, tier, '');
  }
  return { findings, rulings };
}

function areaOf(name: string): string {
  return knownArea(name)?.area ?? name;
}
