import type { Root } from 'mdast';
import { percentOf } from './coverage.ts';
import { arrayOf, type Fields, fieldsOf, stringOf } from './json-fields.ts';
import { jsonFindings } from './json-findings.ts';
import { isNoFinding } from './no-finding.ts';
import type { Coverage, Finding, OpenQuestion, PreFlight, Ruling, Verdict } from './review.ts';
import { offersChoice, verdictWord } from './verdict-word.ts';

export interface JsonReview {
  verdicts: Set<Verdict>;
  conditional: boolean;
  findings: Finding[];
  openQuestions: OpenQuestion[];
  questionsForOrchestrator: string[];
  coverage: Coverage | null;
  preFlight: PreFlight | null;
  title: string | null;
  summary: string | null;
  rulings: Ruling[];
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
    const value = parseJson(source);
    if (value) return { value, source };
  }
  return sources.some((source) => /^\{\s*"/.test(source)) || /^\{\s*"/.test(trimmed) ? 'damaged' : null;
}

/** An object, or the only one of an array; null for anything else. */
export function parseJson(source: string): object | null {
  return parsed(source) ?? parsed(withoutSlips(source));
}

/** Models add comments and a comma after the last entry; both are harmless outside of a string. */
function withoutSlips(source: string): string {
  const keepStrings = (found: string): string => (found.startsWith('"') ? found : '');
  return source
    .replace(/"(?:[^"\\]|\\.)*"|\/\/[^\n]*|\/\*[\s\S]*?\*\//g, keepStrings)
    .replace(/"(?:[^"\\]|\\.)*"|,(?=\s*[}\]])/g, keepStrings);
}

function parsed(source: string): object | null {
  try {
    const value: unknown = JSON.parse(source);
    const single: unknown = Array.isArray(value) && value.length === 1 ? value[0] : value;
    return typeof single === 'object' && single !== null && !Array.isArray(single) ? single : null;
  } catch {
    return null;
  }
}

/** The review in a JSON object, or null when it holds no verdict under any key that means one. */
export function readJsonReview(value: object, source: string): JsonReview | null {
  const outer = fieldsOf(value);
  const wrapped = WRAPPERS.map((key) => outer.get(key)).find(
    (inner) => typeof inner === 'object' && inner !== null && !Array.isArray(inner),
  );
  const fields = wrapped && !outer.has('verdict') ? fieldsOf(wrapped) : outer;
  const verdicts = new Set<Verdict>();
  let conditional = false;
  for (const key of fields.keys()) {
    if (!VERDICT_KEY.test(key) || INNER_VERDICT.test(key)) continue;
    const word = verdictWord(
      stringOf(fields.get(key), ['verdict', 'status', 'decision', 'value', 'result', 'outcome']),
    );
    if (!word || offersChoice(word)) continue;
    if (word.conditional) conditional = true;
    else verdicts.add(word.verdict);
  }
  const approved = fields.get('approved') ?? fields.get('isapproved');
  if (typeof approved === 'boolean') verdicts.add(approved ? 'APPROVED' : 'REVISE');
  for (const verdict of repeatedKeys(source)) verdicts.add(verdict);
  const gate = preFlight(fields);
  const { findings, rulings } = jsonFindings(fields);
  if (verdicts.size === 0 && !fields.has('verdict')) {
    if (gate !== 'FAILED' || conditional) return null;
    verdicts.add('REVISE');
    if (findings.length === 0) findings.push({ tier: 1, area: 'Pre-Flight', text: gateReason(fields) });
  }
  return {
    verdicts,
    conditional,
    findings,
    rulings,
    openQuestions: openQuestions(fields),
    questionsForOrchestrator: arrayOf(fields, ['questionsfororchestrator', 'orchestratorquestions', 'questions'])
      .map((question) => stringOf(question, ['question', 'text']))
      .filter((question) => question !== '' && !isNoFinding(question)),
    coverage: coverage(fields),
    preFlight: gate,
    title: stringOf(fields.get('title'), []) || null,
    summary: stringOf(fields.get('summary') ?? fields.get('reviewsummary') ?? fields.get('rationale'), []) || null,
  };
}

/** `JSON.parse` keeps the last of two equal keys in silence; two verdicts at the top are two verdicts. */
function repeatedKeys(source: string): Verdict[] {
  const found: Verdict[] = [];
  let depth = 0;
  for (const match of source.matchAll(/"(?:[^"\\]|\\.)*"|[{}[\]]/g)) {
    const token = match[0];
    if (token === '{' || token === '[') depth += 1;
    else if (token === '}' || token === ']') depth -= 1;
    else if (depth === 1 && token.toLowerCase() === '"verdict"') {
      const value = /^\s*:\s*"((?:[^"\\]|\\.)*)"/.exec(source.slice(match.index + token.length))?.[1];
      const word = value === undefined ? null : verdictWord(value);
      if (word && !word.conditional && !offersChoice(word)) found.push(word.verdict);
    }
  }
  return found;
}

function openQuestions(fields: Fields): OpenQuestion[] {
  return arrayOf(fields, [
    'openquestionsresolved',
    'resolvedquestions',
    'resolvedopenquestions',
    'openquestions',
  ]).flatMap((entry) => {
    if (typeof entry !== 'object' || entry === null) return [];
    const question = stringOf(entry, ['question', 'text', 'title']);
    const answer = stringOf(entry, ['answer', 'resolution', 'resolved', 'decision', 'response']);
    return question !== '' && answer !== '' ? [{ question, answer }] : [];
  });
}

function coverage(fields: Fields): Coverage | null {
  const said = fields.get('coverage') ?? fields.get('requirementcoverage') ?? fields.get('coverageanalysis');
  if (typeof said === 'string') {
    const [, covered, total] = /(\d+)\s*(?:\/|of)\s*(\d+)/.exec(said) ?? [];
    return covered && total && Number(total) > 0 ? counts(Number(covered), Number(total), undefined) : null;
  }
  if (typeof said !== 'object' || said === null) return null;
  const inner = fieldsOf(said);
  const covered = inner.get('covered') ?? inner.get('requirementscovered');
  const total = inner.get('total') ?? inner.get('requirements') ?? inner.get('totalrequirements');
  if (typeof covered !== 'number' || typeof total !== 'number' || total <= 0) return null;
  return counts(covered, total, inner.get('percent') ?? inner.get('percentage'));
}

function counts(covered: number, total: number, percent: unknown): Coverage {
  return { covered, total, percent: typeof percent === 'number' ? percent : percentOf(covered, total) };
}

function gateReason(fields: Fields): string {
  const reasons = arrayOf(fields, ['reasons', 'reason', 'missing', 'details', 'message', 'rationale', 'summary']);
  const said = reasons.map((reason) => stringOf(reason, ['text', 'message', 'reason'])).filter((text) => text !== '');
  return said.length > 0 ? said.join('\n') : 'The Pre-Flight gate failed.';
}

function preFlight(fields: Fields): PreFlight | null {
  const said = ['preflight', 'preflightgate', 'preflightstatus', 'gate']
    .map((key) => fields.get(key))
    .find((value) => value !== undefined);
  if (typeof said === 'boolean') return said ? 'PASSED' : 'FAILED';
  const passed = typeof said === 'object' && said !== null ? fieldsOf(said).get('passed') : undefined;
  if (typeof passed === 'boolean') return passed ? 'PASSED' : 'FAILED';
  const status = stringOf(said, ['status', 'result', 'verdict']);
  if (/^\W*(?:fail|not passed)/i.test(status)) return 'FAILED';
  return /^\W*pass/i.test(status) ? 'PASSED' : null;
}
