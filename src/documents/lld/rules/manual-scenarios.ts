import type { RootContent } from 'mdast';
import { lineOf, plainText } from '../../markdown.ts';
import type { LldDocument } from '../document.ts';
import { flatText } from '../marked-text.ts';
import type { LldScenario } from '../scenarios.ts';
import { error, type LldFinding, quote, warning } from './rule.ts';

const RULE = 'scenario-manual';
const ADVICE = 'let a program check it and set the type to Auto';

const MANUAL_TYPE =
  /^\W*(?:manual|human|visual|exploratory|by hand|uat|user acceptance|semi)|\bsemi-?\s?(?:auto|manual)|(?:[/+&,]|\band\b|\bor\b)\s*manual\b|\bmanual\s*(?:[/+&,]|\band\b|\bor\b)/i;

const CHECKING = String.raw`(?:verif(?:y|ies|ied|ying)|check(?:s|ed|ing)?|inspect(?:s|ed|ing)?|confirm(?:s|ed|ing)?|validat(?:e|es|ed|ing)|examin(?:e|es|ed|ing)|observ(?:e|es|ed|ing)|assess(?:es|ed)?|test(?:s|ed|ing)?|compar(?:e|es|ed|ing)|review(?:s|ed|ing)?|look(?:s|ed|ing)? (?:at|over|through)|eyeball(?:s|ed|ing)?|judg(?:e|es|ed|ing))`;
const PEOPLE = String.raw`(?:humans?|persons?|people|testers?|qa(?: (?:team|engineer|person|staff))?|someone|somebody|developers?|engineers?|maintainers?|designers?|colleagues?|stakeholders?|product owner|team member|teams?)`;

/** Phrases that hand the check to a person wherever in a scenario they stand. */
const HANDED_OVER: RegExp[] = [
  new RegExp(
    String.raw`\bmanually\s+(?:re-?)?(?:verify|check|inspect|confirm|validate|examine|observe|assess|test|compare|review|look|ensure|try out)\b`,
    'i',
  ),
  /\bmanual\s+(?:verification|inspection|checks?|checking|testing|tests?|qa|observation|validation|examination)\b(?!\s+(?:queue|mode|flag|status|state|list|page|flow|path|option|button|step is skipped))/i,
  /\bmanual\s+review\b(?=\s*(?:[.;,)]|$|of\b|by\b|confirms|shows))(?<!\b(?:for|to|into|in|pending|awaiting|needs?|requires?|as) (?:a )?manual review)/i,
  new RegExp(
    String.raw`\b(?:visual|eye)\s+(?:inspection|check|checks|verification|confirmation|examination|review)\b`,
    'i',
  ),
  /\bvisually\s+(?:verif|check|inspect|confirm|examin|review|compar|validat|assess)\w*/i,
  /\beyeball(?:s|ed|ing)?\b|\bby eye\b|\bwith the naked eye\b/i,
  new RegExp(
    String.raw`\b${PEOPLE}\s+(?:\w+\s+){0,4}?(?:verif(?:y|ies)|checks?|inspects?|eyeballs?|judges?|examines?|looks? (?:at|over|through)|assess(?:es)?|confirms? (?:that|the (?:output|result|page|layout|rendering|screen|look)))\b`,
    'i',
  ),
  new RegExp(
    String.raw`\b(?:verified|checked|inspected|confirmed|validated|judged|assessed|examined|tested|reviewed)\s+(?:manually|visually|by\s+(?:a\s+|an\s+|the\s+|our\s+)?(?:\w+\s+)?${PEOPLE}|by\s+hand)(?![\p{L}])`,
    'iu',
  ),
  new RegExp(
    String.raw`\b(?:ask|tell|have|let)s?\s+(?:a\s+|an\s+|the\s+)?(?:${PEOPLE}|users?|reviewers?|operators?)\s+(?:to\s+)?(?:verify|check|inspect|confirm|look|judge|examine)\b`,
    'i',
  ),
  new RegExp(String.raw`\b${CHECKING}\s+(?:\S+\s+){0,4}?(?:by hand|by eye|manually|visually)(?![\p{L}])`, 'iu'),
  /\bqa\s+sign(?:s)?-?\s?off\b|\bsign(?:ed)?-?\s?off\s+(?:by|from)\b/i,
];

/** Only where the outcome is judged: elsewhere the person may be the user whose doings the test plays. */
const HANDED_OVER_IN_OUTCOME: RegExp[] = [
  new RegExp(
    String.raw`\b(?:users?|operators?|reviewers?|admins?|we|you|i)\s+(?:(?:must|should|can|has to|have to)\s+)?(?:inspects?|eyeballs?|judges?|looks? (?:at|over)|sees? that (?:it|everything)|confirms? that|verif(?:y|ies) (?:that|the (?:output|result|screen|layout|page|rendering))|checks? (?:that|the (?:output|result|screen|layout|page|logs?|rendering)))\b`,
    'i',
  ),
  /\b(?:is|are|be|gets?)\s+manually\s+(?:verified|checked|inspected|confirmed|reviewed|tested|compared)\b/i,
  new RegExp(String.raw`\b${PEOPLE}\s+(?:\w+\s+){0,2}?(?:reviews?|sees?|compares?)\b`, 'i'),
  /\bmanually\s+(?:run|open|execute|launch|click|step)\b/i,
  /\b(?:manual|human)\s+(?:confirmation|judge?ment|evaluation|verification|inspection|review)\b(?!\s+(?:queue|challenge|page|status|state|mode|step|list|task))(?<!\b(?:for|to|into|in|pending|awaiting|as) (?:a )?(?:manual|human) \w+)/i,
  /(?:^|[;.]\s*)look (?:at|for|through)\b/i,
];

/** No phrase is without one of these; one look is cheaper than all of them. */
const HINT =
  /manual|visual|\beye|\bhand|human|person|people|tester|\bqa\b|some(?:one|body)|developer|engineer|maintainer|designer|colleague|stakeholder|owner|team|sign|user|operator|reviewer|admin|\b(?:we|you|i)\b|look/i;

const NEGATION =
  /\b(?:no|not|never|without|nobody|none|instead of|rather than|replac\w*|avoid\w*|n't)\s+(?:\w+\s+){0,3}$/i;

export function checkManualScenarios(lld: LldDocument): LldFinding[] {
  return [...lld.scenarios.flatMap(inScenario), ...inProse(lld.sections.find(({ id }) => id === '10')?.nodes ?? [])];
}

function inScenario(scenario: LldScenario): LldFinding[] {
  const { id, type, line } = scenario;
  if (MANUAL_TYPE.test(type) && !/\b(?:no|not|without)\s+manual/i.test(type)) {
    return [error(RULE, line, `Scenario ${id} has the type ${quote(type)}: ${ADVICE}.`)];
  }
  const outcome = phraseIn(`${scenario.expected} ; ${scenario.pass}`, [...HANDED_OVER, ...HANDED_OVER_IN_OUTCOME]);
  const phrase = outcome ?? phraseIn(`${scenario.scenario} ; ${scenario.input}`, HANDED_OVER);
  return phrase === null
    ? []
    : [error(RULE, line, `Scenario ${id} hands the check to a person (${quote(phrase)}): ${ADVICE}.`)];
}

function phraseIn(text: string, phrases: RegExp[]): string | null {
  const prose = text.replace(/`[^`]*`|"[^"]*"/g, '…');
  if (!HINT.test(prose)) return null;
  for (const phrase of phrases) {
    const match = phrase.exec(prose);
    if (match && !NEGATION.test(prose.slice(Math.max(0, match.index - 60), match.index))) return match[0];
  }
  return null;
}

/** A part of section 10 titled "Manual Tests" that lists some, and sentences beside the table. */
function inProse(nodes: RootContent[]): LldFinding[] {
  let manual: RootContent | null = null;
  return nodes.flatMap((node) => {
    if (node.type === 'heading') {
      manual = /\bmanual\b/i.test(plainText(node)) && !/\b(?:no|without)\s+manual/i.test(plainText(node)) ? node : null;
      return [];
    }
    if (node.type === 'table') return manual && node.children.length > 1 ? takeManual() : [];
    if (node.type === 'list') {
      const isNone = /^\W*(?:none|n\/?a|not applicable|no manual)\b/i.test(flatText(node));
      if (manual && !isNone) return takeManual();
      return node.children.flatMap((item) => inStatement(flatText(item), lineOf(item)));
    }
    return node.type === 'paragraph' ? inStatement(flatText(node), lineOf(node)) : [];
  });

  function takeManual(): LldFinding[] {
    const heading = manual;
    manual = null;
    return heading
      ? [
          error(
            RULE,
            lineOf(heading),
            `${quote(plainText(heading))} lists checks for a person: turn each into a scenario that a program checks.`,
          ),
        ]
      : [];
  }
}

function inStatement(text: string, line: number): LldFinding[] {
  const imperative = HANDED_OVER[0];
  const phrase = imperative ? phraseIn(text, [imperative]) : null;
  return phrase === null
    ? []
    : [
        warning(
          RULE,
          line,
          `Section 10 hands a check to a person (${quote(phrase)}): turn it into a scenario that a program checks.`,
        ),
      ];
}
