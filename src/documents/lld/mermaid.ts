import { type DocumentFinding, error } from '../finding.ts';
import { lineOf } from '../markdown.ts';
import { codeIn, isMermaid, type LldDocument } from './document.ts';
import { isNotApplicable } from './sections.ts';

const DIAGRAMS = new Set(
  (
    'graph flowchart flowchart-elk sequenceDiagram classDiagram classDiagram-v2 stateDiagram stateDiagram-v2 erDiagram ' +
    'journey gantt pie quadrantChart requirementDiagram requirement gitGraph mindmap timeline zenuml sankey sankey-beta ' +
    'xychart xychart-beta block block-beta packet packet-beta kanban architecture architecture-beta radar radar-beta ' +
    'treemap treemap-beta C4Context C4Container C4Component C4Dynamic C4Deployment'
  ).split(' '),
);
const DIRECTION = /^(?:TB|TD|BT|RL|LR|>|<|\^|v)$/;
const BLOCK_OPENERS = /^(?:loop|alt|opt|par|par_over|critical|break|rect|box)\b/i;
const CLOSING: Record<string, string> = { '[': ']', '(': ')', '{': '}' };

/** `mermaid`: section 6 has a diagram or says why not, and every diagram can be drawn as far as a light check tells. */
export function checkMermaid(lld: LldDocument): DocumentFinding[] {
  const broken = lld.mermaid.flatMap(({ text, line }) => {
    const problem = mermaidProblem(text);
    return problem === null
      ? []
      : [error('mermaid', line, `The Mermaid diagram cannot be drawn, ${problem}: correct it.`)];
  });
  const section = lld.sections.find(({ id }) => id === '6');
  if (!section || section.nodes.length === 0 || isNotApplicable(section)) return broken;
  const blocks = section.nodes.flatMap((node) => codeIn(node));
  if (blocks.some(isMermaid)) return broken;
  const unmarked = blocks.find((code) => !code.lang && mermaidProblem(code.value) === null);
  const missing = unmarked
    ? 'The diagram of section 6 is not marked as Mermaid: begin its fence with "```mermaid".'
    : 'Section 6 has no Mermaid diagram: add a "```mermaid" block, or write "N/A – " and why none is needed.';
  return [error('mermaid', unmarked ? lineOf(unmarked) : section.line, missing), ...broken];
}

/**
 * What keeps a Mermaid diagram from being drawn, or null. A light check, because Mermaid itself weighs megabytes: the type
 * is known, there is something in it, what opens is closed, and what flowcharts refuse most often is not there (brackets
 * in a label, `->`, a node called `end`). Text that people write elsewhere (messages, notes) is not judged.
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
      : `"${head.slice(0, 40)}" is no known diagram type`;
  }
  const body = lines.slice(1);
  if (type === 'graph' || type.startsWith('flowchart')) return flowchartProblem(rest, body);
  if (body.length === 0 && rest === '') return `the ${type} has no content`;
  if (type === 'sequenceDiagram') return blockProblem(body, BLOCK_OPENERS) ?? messageProblem(body);
  if (type.startsWith('stateDiagram') && body.some((line) => /(?<![-<])->/.test(withoutLabel(line))))
    return '"->" is no arrow of a state diagram (use "-->")';
  if (type.startsWith('classDiagram') || type.startsWith('stateDiagram')) return braceProblem(body.map(withoutLabel));
  if (type === 'erDiagram')
    return braceProblem(body.map((line) => withoutLabel(line).replace(/[|}o][|o](?:--|\.\.)[|o][|{o]/g, ' ')));
  if (type === 'requirementDiagram') return braceProblem(body);
  return null;
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
    return `"${first}" is no direction (use TD, TB, BT, LR or RL)`;
  if (body.length === 0 && onHeadLine === '') return 'the flowchart has no content';
  const source = [onHeadLine, ...body].join('\n');
  const quotes = source.split('"').length - 1;
  if (quotes % 2 === 1) return 'a quotation mark is not closed';
  const unquoted = source.replace(/"[^"]*"/g, '""');
  return blockProblem(unquoted.split(/[\n;]/), /^subgraph\b/) ?? bracketProblem(unquoted) ?? statementProblem(unquoted);
}

function blockProblem(lines: string[], opener: RegExp): string | null {
  const open: string[] = [];
  for (const line of lines.map((each) => each.trim())) {
    if (opener.test(line)) open.push(line);
    else if (/^end\s*;?$/i.test(line) && open.pop() === undefined) return 'an "end" closes nothing';
  }
  const left = open.at(-1);
  return left === undefined ? null : `"${left.slice(0, 40)}" has no "end"`;
}

/** Brackets of nodes; `|…|` between arrows is a label, and `A>text]` a node that only ends in a bracket. */
function bracketProblem(source: string): string | null {
  const open: string[] = [];
  for (let at = 0; at < source.length; at++) {
    const char = source.charAt(at);
    if (open.length === 0 && char === '|') {
      const end = source.indexOf('|', at + 1);
      const lineEnd = source.indexOf('\n', at);
      if (end < 0 || (lineEnd >= 0 && end > lineEnd)) return 'a label "|…" is not closed';
      at = end;
    } else if (open.length === 0 && char === '>' && /\w/.test(source.charAt(at - 1))) {
      const flag = /^>[^[\]\n]*\]/.exec(source.slice(at, at + 200));
      if (flag) at += flag[0].length - 1;
    } else if (char in CLOSING) {
      open.push(char);
    } else if (char === ']' || char === ')' || char === '}') {
      const opened = open.pop();
      if (opened === undefined) return `a "${char}" closes nothing`;
      if (CLOSING[opened] !== char) return `a "${opened}" is closed by "${char}"`;
    }
  }
  const left = open.at(-1);
  return left === undefined ? null : `a "${left}" is not closed`;
}

const SETTING = /^\s*(?:classDef|class|style|linkStyle|click|direction|accTitle|accDescr)\b/;
const NODE = /(?<=[\p{L}\p{N}_])(\(\(\(|\(\[|\(\(|\[\[|\[\(|\[[/\\]|\{\{|\[|\(|\{)/u;
const NODE_ENDS: Record<string, RegExp> = {
  '(((': /\)\)\)/,
  '([': /\]\)/,
  '((': /\)\)/,
  '[[': /\]\]/,
  '[(': /\)\]/,
  '[/': /[/\\]\]/,
  '[\\': /[/\\]\]/,
  '{{': /\}\}/,
  '[': /\]/,
  '(': /\)/,
  '{': /\}/,
};

/** What Mermaid refuses in the statements of a flowchart whose brackets are balanced. */
function statementProblem(source: string): string | null {
  for (const line of source.split(/[\n;]/)) {
    if (SETTING.test(line)) continue;
    let rest = line;
    let bare = '';
    for (let open = NODE.exec(rest); open; open = NODE.exec(rest)) {
      const [mark] = open;
      const inside = rest.slice(open.index + mark.length);
      const end = NODE_ENDS[mark]?.exec(inside);
      const label = inside.slice(0, end?.index ?? inside.length);
      if (/[()[\]{}]/.test(label)) return `the label "${label.slice(0, 40)}" has brackets (put it in quotation marks)`;
      bare += rest.slice(0, open.index);
      rest = inside.slice((end?.index ?? inside.length) + (end?.[0].length ?? 0));
    }
    bare = (bare + rest).replace(/\|[^|]*\|/g, ' ');
    if (/(?<![-.=<])->/.test(bare)) return '"->" is no arrow of a flowchart (use "-->")';
    if (/(?:[-=.]>|---|&)\s*end\s*(?:$|[-=&])|^\s*end\s*(?:[-=&]|$(?<!^\s*end\s*$))/.test(bare))
      return '"end" can\'t be the name of a node (write "End" or another name)';
  }
  return null;
}

function messageProblem(lines: string[]): string | null {
  const message = lines.find(
    (line) => /^\s*[\w ]+?\s*(?:<<)?--?(?:>>?|x|\))\s*[+-]?[\w ]+\s*$/.test(line) && !/^\s*note\b/i.test(line),
  );
  return message === undefined
    ? null
    : `the message "${message.trim().slice(0, 40)}" has no text (write ": …" behind it)`;
}

function braceProblem(lines: string[]): string | null {
  let depth = 0;
  for (const char of lines.join('\n').replace(/"[^"\n]*"/g, '')) {
    if (char === '{') depth++;
    else if (char === '}') depth--;
    if (depth < 0) return 'a "}" closes nothing';
  }
  return depth > 0 ? 'a "{" is not closed' : null;
}

/** Without what follows a colon: labels and notes are free text. */
function withoutLabel(line: string): string {
  return line.replace(/(?<!:):(?!:)(?!.*\{\s*$).*$/, '');
}
