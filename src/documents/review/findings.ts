import type { List, ListItem, Paragraph, RootContent, Table } from 'mdast';
import { plainText } from '../markdown.ts';
import { isNoFinding, saysSettled } from './no-finding.ts';
import { knownArea, type Part } from './outline.ts';
import { rulingsIn } from './parts.ts';
import { type Finding, GUARD_AREA, isGuardFinding, type Tier, type Verdict } from './review.ts';
import { blockText, inlineText, unwrapLines } from './text.ts';
import { wholeStatement } from './verdict.ts';
import { standsAlone, verdictWord } from './verdict-word.ts';

interface Item extends Finding {
  ticked: boolean;
  /** False where neither a heading nor a tag says how grave it is. */
  isRanked: boolean;
}

const CONTINUATION =
  /^\W*(?:recommend(?:ation|ed)?\w*|fix|suggest(?:ion|ed fix)|impact|rationale|reason|why|risk|evidence|location|severity|mitigation|action|example|details?|description|note|reference|solution|remediation|required|expected|resolution|proposed)\b[^:]{0,30}:/i;
const SIGN_OFF =
  /^\W*(?:let me know|(?:reviewed|signed) (?:by|on)|i(?:'|’)?m happy to|happy to|feel free|end of (?:the )?review|thank you|thanks)\b/i;
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
  return {
    findings: open.map(({ tier, area, text }) => ({
      tier,
      area: area === '' && tier === 3 ? 'Suggestions' : area,
      text,
    })),
    unranked: open.filter(({ isRanked }) => !isRanked).map(({ text }) => text),
  };
}

/** The boxes of a verdict that lost its heading, below the last tier. */
function isVerdict(text: string): boolean {
  const word = /^(?:APPROVED|REVISE|DISCUSS|BLOCKED)\b/.test(text) ? verdictWord(text) : wholeStatement(text);
  return word !== null && standsAlone(word);
}

function isRuledOut(text: string): boolean {
  const [ruling] = rulingsIn([{ text: text.split('\n', 1)[0] ?? '', box: null, nested: false }]);
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
  for (const [index, node] of part.blocks.entries()) {
    if (node.type === 'list') {
      if (!node.children.every(isDetail) || !append(blockText([node]))) items.push(...listItems(node, part));
    } else if (node.type === 'paragraph' || node.type === 'heading') {
      const isLoud = node.children[0]?.type === 'strong';
      for (const { text, ticked } of paragraphEntries(node)) {
        const continues = ticked === null && (CONTINUATION.test(text) || !isLoud);
        if ((continues && append(text)) || isIntroduction(text, part.blocks[index + 1])) continue;
        items.push(newItem(text, part, ticked === true));
      }
    } else if (node.type === 'table') {
      items.push(...tableItems(node, part));
    } else if (node.type === 'code' || node.type === 'blockquote') {
      append(blockText([node]));
    }
  }
  return items;
}

/** A point that only elaborates on the finding above it ("Recommendation: …"). */
function isDetail(item: ListItem): boolean {
  return typeof item.checked !== 'boolean' && CONTINUATION.test(blockText(item.children));
}

function isIntroduction(text: string, next: RootContent | undefined): boolean {
  if (/^\W*note\b/i.test(text) || SIGN_OFF.test(text)) return true;
  return text.endsWith(':') && (next?.type === 'list' || next?.type === 'table');
}

/** The lines of a paragraph of boxes without list markers are findings of their own. */
function paragraphEntries(
  node: Paragraph | Extract<RootContent, { type: 'heading' }>,
): { text: string; ticked: boolean | null }[] {
  const entries: { text: string; ticked: boolean | null }[] = [];
  for (const line of inlineText(node.children).split('\n')) {
    const [, mark, rest] = /^\s*\[([ xX✓✔]?)\]\s*(.*)$/.exec(line) ?? [];
    const last = entries.at(-1);
    if (rest !== undefined) entries.push({ text: rest, ticked: mark !== undefined && mark.trim() !== '' });
    else if (last) last.text += `\n${line}`;
    else entries.push({ text: line, ticked: null });
  }
  return entries.map(({ text, ticked }) => ({ text: unwrapLines(text), ticked }));
}

function listItems(list: List, part: Part): Item[] {
  return list.children.flatMap((item) => {
    const [first, ...rest] = item.children;
    if (first?.type !== 'paragraph') return [newItem(blockText(item.children), part, item.checked === true)];
    // "- **Safety**" with its findings one level below.
    const area = knownArea(plainText(first));
    const nested = rest.find((child) => child.type === 'list');
    if (area && nested) return listItems(nested, { ...part, area: area.area });
    const entries = paragraphEntries(first);
    return entries.map(({ text, ticked }, index) => {
      const below = index === entries.length - 1 ? blockText(rest) : '';
      return newItem(below === '' ? text : `${text}\n${below}`, part, ticked ?? item.checked === true);
    });
  });
}

function tableItems(table: Table, part: Part): Item[] {
  const [header = [], ...rows] = table.children.map((row) =>
    row.children.map((cell) => unwrapLines(inlineText(cell.children))),
  );
  const areaColumn = header.findIndex((title) => /^(?:area|category|type|section)$/i.test(title));
  return rows.flatMap((cells) => {
    const said = cells.filter(
      (cell, at) => at !== areaColumn && !/^(?:#|no\.?|id)$/i.test(header[at] ?? '') && cell !== '',
    );
    if (said.length === 0 || said.some((cell) => isNoFinding(cell))) return [];
    const area = cells[areaColumn] ?? '';
    return [newItem(said.join(' – '), { ...part, area: (knownArea(area)?.area ?? area) || part.area }, false)];
  });
}

/** The area and, in a list without tiers, the tier may stand in front of the finding itself. */
function newItem(text: string, part: Part, ticked: boolean): Item {
  let rest = text;
  let tier: Tier = part.tier === 0 ? 2 : part.tier;
  const tag = part.tier === 0 || /^\W{0,2}\[/.test(text) ? TAG.exec(rest) : null;
  if (tag) {
    rest = rest.slice(tag[0].length);
    if (part.tier === 0) tier = tag[1] ? (Number(tag[1]) as Tier) : tag[2] ? 1 : tag[3] ? 2 : 3;
  }
  let area = part.area;
  const lead = /^([^:\n]{3,40}):\s+(?=\S)/.exec(rest);
  const known = area === '' && lead ? knownArea(lead[1] ?? '') : null;
  if (lead && GUARD_LEAD.test(lead[1] ?? '')) area = GUARD_AREA;
  else if (known && lead) {
    area = known.area;
    rest = rest.slice(lead[0].length);
  }
  if (isGuardFinding({ area, text: rest })) tier = 3;
  return { tier, area, text: rest.trim(), ticked, isRanked: part.tier !== 0 || tag !== null };
}
