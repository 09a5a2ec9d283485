import { knownArea } from './headings.ts';
import { type Fields, fieldsOf, keyOf, stringOf } from './json-fields.ts';
import { isNoFinding, saysSettled } from './no-finding.ts';
import { type Finding, isGuardFinding, type Ruling, type Tier } from './review.ts';

const TIER_KEYS: [RegExp, Tier][] = [
  [/^(?:tier1\w*|blocking\w*|blockers?|critical\w*|mustfix|requiredchanges|p0)$/, 1],
  [/^(?:tier2\w*|highpriority\w*|high|major\w*|p1)$/, 2],
  [/^(?:tier3\w*|suggestions?|minor\w*|nonblocking\w*|lowpriority\w*|nicetohaves?|optional|p2|p3|nits?)$/, 3],
];
const LIST_KEYS =
  /^(?:findings|issues|issuesfound|feedbackitems|feedback|comments|problems|concerns|tiers|actionitems|1|2|3)$/;
const TEXT_KEYS = [
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
const ADVICE_KEYS = ['recommendation', 'suggestion', 'fix', 'requiredfix', 'remediation', 'resolution', 'action'];
const SEVERITIES: [RegExp, Tier][] = [
  [/^(?:1|tier ?1|blocking|blocker|critical|p0|fatal|severe)\b/, 1],
  [/^(?:2|tier ?2|high\b.*|major|important|medium|moderate|p1|warning)\b/, 2],
  [/^(?:3|tier ?3|low\b.*|minor|suggestion|info|nit|trivial|optional|p[23])\b/, 3],
];
const SETTLED = /^(?:resolved|fixed|settled|closed|addressed|withdrawn|done)$/;

interface Context {
  tier: Tier | null;
  area: string;
}

/** Findings under any of the usual keys, nested by tier or by area, as strings or as objects. */
export function jsonFindings(fields: Fields): { findings: Finding[]; rulings: Ruling[] } {
  const findings: Finding[] = [];
  const rulings: Ruling[] = [];

  const addFinding = (text: string, { tier, area }: Context): void => {
    const isOfGuard = isGuardFinding({ area, text });
    if (text === '' || (!isOfGuard && (isNoFinding(text) || saysSettled(text)))) return;
    const known: Tier = isOfGuard ? 3 : (tier ?? 2);
    findings.push({ tier: known, area: area === '' && known === 3 ? 'Suggestions' : area, text });
  };

  const visit = (value: unknown, context: Context): void => {
    if (typeof value === 'string') addFinding(value.trim(), context);
    else if (Array.isArray(value)) for (const entry of value) visit(entry, context);
    else if (typeof value === 'object' && value !== null) visitObject(value, context);
  };

  const visitObject = (value: object, context: Context): void => {
    const inner = fieldsOf(value);
    const title = stringOf(value, ['title', 'name', 'heading']);
    const body = stringOf(value, TEXT_KEYS);
    const advice = stringOf(value, ADVICE_KEYS);
    if (title === '' && body === '' && advice === '') {
      for (const [name, entry] of Object.entries(value)) visit(entry, contextOf(name, context));
      return;
    }
    const state = stringOf(inner.get('status') ?? inner.get('state'), []).toLowerCase();
    const settled = SETTLED.test(state) || inner.get('resolved') === true || inner.get('settled') === true;
    const id = stringOf(inner.get('id'), []);
    if (/^F\d+$/i.test(id) && (settled || state === 'open')) {
      rulings.push({ id: id.toUpperCase(), state: settled ? (state === 'withdrawn' ? 'withdrawn' : 'fixed') : 'open' });
    }
    if (settled) return;
    const lead = [/^F\d+$/i.test(id) ? id : '', title].filter((part) => part !== '');
    const said = [...lead, body].filter((part) => part !== '').join(': ');
    const text =
      advice !== '' && advice !== body
        ? [said, `Recommendation: ${advice}`].filter((part) => part !== '').join('\n')
        : said;
    addFinding(text, {
      tier: severityOf(inner) ?? context.tier,
      area: areaOf(stringOf(value, ['area', 'category', 'section', 'type'])) || context.area,
    });
  };

  for (const [key, value] of fields) {
    const context = contextOf(key, { tier: null, area: '' });
    if (context.tier !== null || LIST_KEYS.test(key)) visit(value, context);
  }
  return { findings, rulings };
}

function contextOf(name: string, context: Context): Context {
  const key = keyOf(name);
  const tier = TIER_KEYS.find(([pattern]) => pattern.test(key))?.[1];
  if (tier !== undefined) return { ...context, tier };
  if (/^[123]$/.test(key)) return { ...context, tier: Number(key) as Tier };
  return LIST_KEYS.test(key) ? context : { ...context, area: areaOf(name) };
}

function areaOf(name: string): string {
  return knownArea(name)?.area ?? name;
}

function severityOf(fields: Fields): Tier | null {
  for (const key of ['tier', 'severity', 'priority', 'level']) {
    const value = fields.get(key);
    const said = typeof value === 'number' ? String(value) : stringOf(value, []).toLowerCase();
    const tier = SEVERITIES.find(([pattern]) => pattern.test(said))?.[1];
    if (tier !== undefined) return tier;
  }
  return null;
}
