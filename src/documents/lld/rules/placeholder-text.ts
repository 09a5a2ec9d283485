/** Placeholder phrases, told apart by how much of their place they fill. */

const HTML_TAGS = new Set(
  (
    'a abbr b big blockquote br caption center cite code col colgroup dd del details dfn div dl dt em figcaption figure font ' +
    'h1 h2 h3 h4 h5 h6 hr i img ins kbd li mark ol p picture pre q s samp small source span strike strong sub summary sup ' +
    'svg table tbody td tfoot th thead tr tt u ul var video'
  ).split(' '),
);

const WHOLE: RegExp[] = [
  /^(?:tbd|tba|fixme|to be (?:determined|defined|decided|done|announced|filled in|added|written))\W*$/i,
  /^(?:TODO|Todo)\W*$/,
  /^(?:TBD|TODO|FIXME)\s*(?:[:–—(]|-\s)/,
  /^(?:fill (?:this |me )?in|insert \S.* here|your \S.* here|placeholder(?: text)?|0?X{3,}|YYYY-MM-DD|\?{2,})\W*$/i,
  /^\[(?:describe|insert|your|explain|fill|provide|specify|list|add|name|enter|brief|short|link|e\.?g\.?|what|why|how|who|reason|details?|example|optional|if applicable)(?:\s+[^\],]+)\]\W*$/i,
  /^\[(?:description|placeholder|title|summary|name|date|author|tbd|todo|path|file|reason|details?|text|\.{3}|…)\]\W*$/i,
];

const INSIDE: RegExp[] = [
  /\{\{[^{}\n]*\}\}/,
  /\[(?:(?:describe|explain|fill in|provide|specify|insert|your|replace with|replace this)\s[^\]]*|tbd|todo|placeholder)\](?!\()/i,
  /<(?:insert|describe|your|fill|enter|specify|todo|tbd|placeholder|add your|replace)\b[^>\n]*>/i,
  /\blorem ipsum\b/i,
];

/**
 * The placeholder in a piece of text (a cell, an item, a line of a paragraph; inline code in backticks), or null. A
 * whole piece, or what follows its label, is judged more strictly than words inside a sentence.
 */
export function placeholderIn(text: string): string | null {
  const prose = text.replace(/`[^`]*`/g, '`…`');
  const inside = INSIDE.map((pattern) => pattern.exec(prose)?.[0]).find((match) => match !== undefined);
  if (inside !== undefined) return inside;
  const value = prose.replace(/^\W*[\p{L}][\p{L}\s]{0,30}:\**\s+(?=\S)/u, '').trim();
  for (const piece of [prose.trim(), value]) {
    if (WHOLE.some((pattern) => pattern.test(piece)) || isUnknownTag(piece)) return piece;
  }
  return null;
}

/** `<description>` alone; `<br>` and `<T>` are none. */
function isUnknownTag(piece: string): boolean {
  const tag = /^<([A-Za-z][\w -]*)>\W*$/.exec(piece)?.[1];
  if (tag === undefined || tag.length === 1) return false;
  return !HTML_TAGS.has((tag.split(' ')[0] ?? '').toLowerCase());
}
