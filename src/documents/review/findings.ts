import { isNoFinding, rulingsIn, saysSettled } from './finding-state.ts';
import { entriesOf, type Line, textOf } from './lines.ts';
import { knownArea, type Part } from './outline.ts';
import { type Finding, GUARD_AREA, isGuardFinding, type Tier, type Verdict } from './review.ts';
import { standsAlone, verdictWord, wholeStatement } from './verdict-word.ts';

interface Item extends Finding {
  ticked: boolean;
  /** False where neither a heading nor a tag says how grave it is. */
  isRanked: boolean;
}

const CONTINUATION =
  /^\W*(?:recommend(?:ation|ed)?\w*|fix|suggest(?:ion|ed fix)|impact|rationale|reason|why|risk|evidence|location|severity|mitigation|action|example|details?|description|note|reference|solution|remediation|required|expected|resolution|proposed)\b[^:]{0,30}:/i;
/** What is said about the list, or to the reader. */
const NO_ITEM =
  /^\W*(?:note|let me know|(?:reviewed|signed) (?:by|on)|i(?:'|’)?m happy to|happy to|feel free|end of (?:the )?review|thank you|thanks)\b/i;
const TAG =
  /^\W{0,3}(?:tier[\s-]?([1-3])|(blocking|blocker|critical)|(high(?:[\s-]priority)?|major)|(suggestion|minor|low(?:[\s-]priority)?|nit))\b[\])}*\s]*[:\])–—/-]\s*/i;
/** `Guard`, `Guard (020)`, `Guard: scenarios 020 and 030`; not `Guard clause`, which is about code. */
const GUARD_LEAD = /^guards?(?:\W+(?:scenarios?\W+)?\d{3}[a-z]?(?:(?:\W|and)+\d{3}[a-z]?)*\W*)?$/i;

/**
 * The open findings of all tiers. An unticked box, a plain bullet, a number, a paragraph, a table row or a heading of its
 * own is a finding; a ticked one is settled – unless the review asks for a revision and has nothing else to revise: then
 * the reviewer ticked what is wrong.
 */
export function findingsOf(parts: Part[], verdict: Verdict | null): { findings: Finding[]; unranked: string[] } {
  const items = parts.filter((part) => part.kind === 'tier').flatMap(itemsOf);
  const relevant = items.filter(
    // What a guard says of its scenario sounds like praise.
    (item) => isGuardFinding(item) || ![isNoFinding, saysSettled, isRuledOut, isVerdict].some((is) => is(item.text)),
  );
  const holdsBack = relevant.some((item) => !item.ticked && item.tier < 3);
  const tickMeansOpen = !holdsBack && verdict !== 'APPROVED';
  const open = relevant.filter((item) => !item.ticked || tickMeansOpen);
  const named = (area: string, tier: Tier): string => (area === '' && tier === 3 ? 'Suggestions' : area);
  return {
    findings: open.map(({ tier, area, text }) => ({ tier, area: named(area, tier), text })),
    unranked: open.filter(({ isRanked }) => !isRanked).map(({ text }) => text),
  };
}

/** The boxes of a verdict that lost its heading, below the last tier. */
function isVerdict(text: string): boolean {
  const word = /^(?:APPROVED|REVISE|DISCUSS|BLOCKED)\b/.test(text) ? verdictWord(text) : wholeStatement(text);
  return word !== null && standsAlone(word);
}

function isRuledOut(text: string): boolean {
  const [ruling] = rulingsIn([{ said: text.split('\n', 1)[0] ?? '', box: null }]);
  return ruling !== undefined && ruling.state !== 'open' && /^\W{0,3}(?:finding )?F\d/i.test(text);
}

function itemsOf(part: Part): Item[] {
  const items: Item[] = [];
  /** To the finding above; there is none after "No issues found." */
  const append = (text: string): boolean => {
    const last = items.at(-1);
    if (!last || isNoFinding(last.text)) return false;
    last.text += `\n${text}`;
    return true;
  };
  for (const [index, { node, lines }] of part.blocks.entries()) {
    const next = part.blocks[index + 1]?.node.type;
    if (node.type === 'table') items.push(...tableItems(lines, part));
    else if (node.type === 'code' || node.type === 'blockquote') {
      // It belongs to the finding above; with none above, it is one.
      const isAppended = append(textOf(lines));
      if (!isAppended && items.length === 0) items.push(newItem(textOf(lines).replace(/^> ?/gm, ''), part, false));
    } else if (node.type === 'list') {
      // Points that only elaborate on the finding above ("Recommendation: …").
      const isDetail = entriesOf(lines).every(({ text, box }) => box === null && CONTINUATION.test(text));
      if (!isDetail || !append(textOf(lines)))
        items.push(...entriesOf(lines).map(({ whole, box }) => newItem(whole, part, box === 'ticked')));
    } else if (node.type === 'paragraph') {
      for (const { text, box } of entriesOf(lines)) {
        const continues = box === null && (CONTINUATION.test(text) || lines[0]?.bold === null);
        const isIntroduction = text.endsWith(':') && (next === 'list' || next === 'table');
        if ((continues && append(text)) || NO_ITEM.test(text) || isIntroduction) continue;
        items.push(newItem(text, part, box === 'ticked'));
      }
    }
  }
  return items;
}

/** A row of a table; the numbers in its first cell and empty cells say nothing. */
function tableItems(lines: readonly Line[], part: Part): Item[] {
  return lines.slice(1).flatMap(({ text }) => {
    const [first = '', ...more] = text.split(' | ').filter((cell) => /[\p{L}✓✔✅☑]/u.test(cell));
    if (first === '' || [first, ...more].some(isNoFinding)) return [];
    const area = more.length > 0 ? knownArea(first)?.area : undefined;
    const said = area === undefined ? [first, ...more] : more;
    return [newItem(said.join(' – '), { ...part, area: area ?? part.area }, false)];
  });
}

/** The area and, in a list without tiers, the tier may stand in front of the finding itself. */
function newItem(given: string, part: Part, ticked: boolean): Item {
  const tag = part.tier === 0 || /^\W{0,2}\[/.test(given) ? TAG.exec(given) : null;
  const text = given.slice(tag?.[0].length ?? 0);
  const tagged: Tier = tag === null || tag[3] ? 2 : tag[1] ? (Number(tag[1]) as Tier) : tag[2] ? 1 : 3;
  const tier = part.tier === 0 ? tagged : part.tier;
  const [lead = '', name = ''] = /^([^:\n]{3,40}):\s+(?=\S)/.exec(text) ?? [];
  const known = part.area === '' ? knownArea(name)?.area : undefined;
  const isGuard = GUARD_LEAD.test(name);
  const area = isGuard ? GUARD_AREA : (known ?? part.area);
  const rest = (isGuard || known === undefined ? text : text.slice(lead.length)).trim();
  const isRanked = part.tier !== 0 || tag !== null;
  return { tier: isGuardFinding({ area, text: rest }) ? 3 : tier, area, text: rest, ticked, isRanked };
}
