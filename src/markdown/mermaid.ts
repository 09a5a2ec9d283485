const DIAGRAMS = new Set(
  (
    'graph flowchart flowchart-elk sequenceDiagram classDiagram classDiagram-v2 stateDiagram stateDiagram-v2 erDiagram ' +
    'journey gantt pie quadrantChart requirementDiagram requirement gitGraph mindmap timeline zenuml sankey sankey-beta ' +
    'xychart xychart-beta block block-beta packet packet-beta kanban architecture architecture-beta radar radar-beta ' +
    'treemap treemap-beta C4Context C4Container C4Component C4Dynamic C4Deployment'
  ).split(' '),
);
const DIRECTION = /^(?:TB|TD|BT|RL|LR|>|<|\^|v)$/;
const RELATION = /[|}][|o](?:--|\.\.)[|o][|{]/;
const OPENERS = /^(loop|alt|opt|par|par_over|critical|break|rect|box)\b/i;

/**
 * Why Mermaid would refuse the diagram, or null. Mermaid itself is several megabytes, so this is a light parser: it reads
 * flowcharts and sequence diagrams as Mermaid does, and checks only brackets and arrows of the others.
 */
export function mermaidProblem(text: string): string | null {
  const lines = bareLines(text);
  const head = lines[0]?.trim();
  if (head === undefined) return 'the diagram is empty';
  const [, type = '', rest = ''] = /^([\w-]+):?\s*;?\s*(.*)$/.exec(head) ?? [];
  if (!DIAGRAMS.has(type)) {
    const known = [...DIAGRAMS].find((name) => name.toLowerCase() === type.toLowerCase());
    return known
      ? `the diagram type "${type}" is written "${known}"`
      : `"${head.slice(0, 40)}" is not a known diagram type`;
  }
  const body = lines.slice(1);
  if (type === 'graph' || type.startsWith('flowchart')) return flowchartProblem(rest, body);
  if (body.length === 0 && rest === '') return `the ${type} has no content`;
  if (type === 'sequenceDiagram') return sequenceProblem(body);
  if (type === 'requirementDiagram') return braceProblem(body);
  if (type === 'erDiagram') {
    const unnamed = body.find((line) => RELATION.test(line) && !line.includes(':'));
    if (unnamed) return `the relation "${unnamed.trim().slice(0, 40)}" has no name (write ": …" behind it)`;
    return braceProblem(body.map((line) => withoutLabel(line).replace(RELATION, ' ')));
  }
  if (!/^(?:state|class)Diagram/.test(type)) return null;
  const noArrow = type.startsWith('state') ? /(?<![-<])->/ : /(?<![-.=<])[-=]>/;
  const arrow = body.map((line) => noArrow.exec(withoutLabel(line))?.[0]).find(Boolean);
  return arrow ? `"${arrow}" is not an arrow of a ${type} (use "-->")` : braceProblem(body.map(withoutLabel));
}

/** Lines without configuration, comments and blanks. */
function bareLines(text: string): string[] {
  return text
    .replace(/^\s*---\n[\s\S]*?\n\s*---[ \t]*(?:\n|$)/, '')
    .replace(/%%\{[\s\S]*?\}%%/g, '')
    .split('\n')
    .filter((line) => line.trim() !== '' && !/^\s*%%/.test(line));
}

function flowchartProblem(rest: string, body: string[]): string | null {
  const [first = '', ...others] = rest.split(/[\s;]+/).filter((word) => word !== '');
  const onHeadLine = DIRECTION.test(first) ? others.join(' ') : '';
  if (first !== '' && !DIRECTION.test(first) && others.length === 0)
    return `"${first}" is not a direction (use TD, TB, BT, LR or RL)`;
  if (body.length === 0 && onHeadLine === '') return 'the flowchart has no content';
  const source = [onHeadLine, ...body].join('\n');
  if (source.split('"').length % 2 === 0) return 'a quotation mark is not closed';
  // Quoted text may contain anything.
  return statementsProblem(source.replace(/"[^"]*"/g, '""'));
}

const SETTING =
  /^(?:(?:classDef|class|style|linkStyle|click|direction|accTitle|accDescr)\b[^\n;]*|subgraph\b[^\n;]*|end(?=\s*(?:[\n;]|$)))/;
const ID = /^(?:[\p{L}\p{N}!#$%'*+.`?\\_/]|-(?=[^>\-.])|=(?![=>]))+/u;
/** `-->`, `---`, `==>`, `-.->`, `~~~`, with an optional id and heads; then the same with text inside. */
const LINK = /^\s*(?:\w+@)?[xo<]?(?:-{2,}[-xo>]|={2,}[=xo>]|-\.+-[xo>]?|~{3,})/;
const TEXT_LINK = /^\s*[xo<]?(?:--[^\n]+?--+[-xo>]|==[^\n]+?==+[=xo>]|-\.[^\n]+?\.+-[xo>]?)/;
const SHAPES: [open: string, close: RegExp][] = [
  ['(((', /\)\)\)/],
  ['([', /\]\)/],
  ['((', /\)\)/],
  ['[[', /\]\]/],
  ['[(', /\)\]/],
  ['[/', /[/\\]\]/],
  ['[\\', /[/\\]\]/],
  ['{{', /\}\}/],
  ['@{', /\}/],
  ['[', /\]/],
  ['(', /\)/],
  ['{', /\}/],
  ['>', /\]/],
];

/** Reads the statements of a flowchart: nodes joined by `&`, chained by links, each with its shape and label. */
function statementsProblem(source: string): string | null {
  let rest = source;
  let depth = 0;
  const take = (pattern: RegExp): string | null => {
    const found = pattern.exec(rest)?.[0] ?? null;
    rest = rest.slice(found?.length ?? 0);
    return found;
  };
  const here = (): string => `"${rest.trim().split('\n')[0]?.slice(0, 40) ?? ''}"`;
  const node = (): string | null => {
    const id = take(ID);
    if (id === null) return rest.trim() === '' ? 'a link leads nowhere' : `${here()} is not a node`;
    if (id === 'end') return '"end" can\'t be the name of a node (write "End" or another name)';
    const shape = SHAPES.find(([open]) => rest.startsWith(open));
    if (shape) {
      const [open, close] = shape;
      const inside = rest.slice(open.length);
      const end = close.exec(inside);
      if (!end) return `a "${open}" is not closed`;
      const label = inside.slice(0, end.index);
      if (open !== '@{' && !/^\s*""\s*$/.test(label) && /[()[\]{}|"]/.test(label))
        return `the label "${label.slice(0, 40)}" has brackets, bars or quotation marks (put all of it in quotation marks)`;
      rest = inside.slice(end.index + end[0].length);
    }
    take(/^:::[\w-]+/);
    return null;
  };
  for (take(/^[\s;]+/); rest !== ''; take(/^[\s;]+/)) {
    const setting = take(SETTING);
    if (setting !== null) {
      depth += setting.startsWith('subgraph') ? 1 : setting === 'end' ? -1 : 0;
      if (depth < 0) return 'an "end" closes nothing';
      continue;
    }
    for (let linked = true; linked; ) {
      const problem = node();
      if (problem !== null) return problem;
      linked = take(/^\s*&\s*/) !== null;
      if (linked || (take(LINK) ?? take(TEXT_LINK)) === null) continue;
      const label = take(/^\s*\|[^|\n]*\|/);
      if (label !== null && !/^\s*\|\s*""\s*\|$/.test(label) && /[()[\]{}"]/.test(label))
        return `the label ${label.trim()} has brackets (put it in quotation marks)`;
      take(/^\s+/);
      linked = true;
    }
    if (/^[ \t]*(?:[\n;]|$)/.test(rest)) continue;
    const arrow = /^\s*([-=]>)/.exec(rest)?.[1];
    return arrow ? `"${arrow}" is not an arrow of a flowchart (use "-->")` : `${here()} is not allowed here`;
  }
  return depth > 0 ? 'a "subgraph" has no "end"' : null;
}

const SETTINGS =
  /^(?:participant|actor|create|destroy|activate|deactivate|autonumber|title|links?|properties|details|accTitle|accDescr)\b/i;
const PARTS: Record<string, string[]> = { else: ['alt'], and: ['par', 'par_over'], option: ['critical'] };

/** Each line of a sequence diagram is the beginning, part or end of a block, a note, a setting, or a message with text. */
function sequenceProblem(lines: string[]): string | null {
  const open: string[] = [];
  // A semicolon ends a statement, unless it ends an entity.
  const statements = lines.flatMap((line) => line.replace(/#\w+;/g, '').split(';'));
  for (const line of statements.map((each) => each.trim()).filter((each) => each !== '')) {
    const said = `"${line.slice(0, 40)}"`;
    const opener = OPENERS.exec(line)?.[1]?.toLowerCase();
    const part = /^(else|and|option)\b/i.exec(line)?.[1]?.toLowerCase();
    if (opener !== undefined) open.push(opener);
    else if (/^end$/i.test(line)) {
      if (open.pop() === undefined) return 'an "end" closes nothing';
    } else if (part !== undefined) {
      if (!PARTS[part]?.includes(open.at(-1) ?? '')) return `${said} belongs to no open "${PARTS[part]?.[0]}"`;
    } else if (/^note\b/i.test(line)) {
      if (!/^note\s+(?:right of|left of|over)\b[^:]+:/i.test(line))
        return `${said} is not a note (write "Note over A: …")`;
    } else if (!SETTINGS.test(line)) {
      const [, message] = /^[^:]+?(?:<<)?--?(?:>>?|x|\)|[|/\\]+)[^:]+?(:.*)?$/.exec(line) ?? [null, null];
      if (message === null) return `${said} is not a message (write "A->>B: …")`;
      if (message === undefined) return `the message ${said} has no text (write ": …" behind it)`;
    }
  }
  const left = open.at(-1);
  return left === undefined ? null : `"${left}" has no "end"`;
}

function braceProblem(lines: string[]): string | null {
  let depth = 0;
  for (const brace of lines
    .join('\n')
    .replace(/"[^"\n]*"/g, '')
    .match(/[{}]/g) ?? []) {
    depth += brace === '{' ? 1 : -1;
    if (depth < 0) return 'a "}" closes nothing';
  }
  return depth > 0 ? 'a "{" is not closed' : null;
}

/** Drops the text behind a colon, because labels and notes may contain anything. */
function withoutLabel(line: string): string {
  return line.replace(/(?<!:):(?!:)(?!.*\{\s*$).*$/, '');
}
